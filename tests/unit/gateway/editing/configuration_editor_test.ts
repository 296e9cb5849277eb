import assert from "node:assert/strict";
import { textSource, validateConfiguration } from "../../../../mod.ts";
import { runToEnd } from "../../../../src/base/slices.ts";
import { loadConfig } from "../../../../src/config/load.ts";
import { printYaml } from "../../../../src/config/yaml/yaml.ts";
import { schemasOf } from "../../../../src/gateway/candidate/candidate.ts";
import { ConfigurationEditor } from "../../../../src/gateway/editing/configuration_editor.ts";
import { ConfigurationHistory } from "../../../../src/gateway/editing/configuration_history.ts";
import {
  formsShown,
  secretPlaces,
} from "../../../harness/gateway/secret_places.ts";

const name = "gateway.yaml";

/** Creates an editor of one file, and returns what it wrote. */
function edit(text: string, past?: string) {
  const written: string[] = [];
  const environment = { TOKEN: "0123456789abcdef" };
  const history = new ConfigurationHistory();
  const remember = (hash: string, text: string) => {
    const sources = [{ name, text }];
    const loaded = loadConfig(sources, environment, schemasOf());
    const { sensitiveHeaders } = loaded.settings;
    const secrets = runToEnd(loaded.findSecrets());
    history.add({ hash, appliedAt: 0, sources, sensitiveHeaders, secrets });
  };
  if (past !== undefined) remember("past", past);
  remember("h", text);
  const editor = new ConfigurationEditor({
    source: {
      read: () => Promise.resolve([{ name, text }]),
      watch: () => Promise.reject(new TypeError("not expected")),
      isWritable: () => Promise.resolve(true),
      write: (_, text) => {
        written.push(text);
        return Promise.resolve();
      },
    },
    environment,
    history,
    reload: () => Promise.resolve(),
  });
  const show = async () => (await editor.read()).files[0]?.text ?? "";
  return {
    show,
    written,
    compareWithPast: () => editor.compareWithPast("past"),
    apply: async (change: (shown: string) => string) =>
      await editor.apply({ hash: "h", name, text: change(await show()) }),
  };
}

const source = `config: # The token was 0123456789-secret-token before.
  adminToken: &token 0123456789-secret-token
  sessionSecret: >-
    a secret that is folded
    over two lines of this file
  sensitiveHeaders: [x-door]
  kv: { redis: 'redis://gateway:it''s@127.0.0.1:1' }
  otlp:
    endpoint: http://127.0.0.1:1
    headers: { x-key: "Bearer \${TOKEN}", x-own: *token }
gateways:
  default: { port: 3000 }
routes:
- name: 0123456789-secret-token # No secret, though it is equal.
  filters:
  - type: RequestHeaderModifier
    requestHeaderModifier:
      set:
      - { name: X-Door, value: opened by ada }
      - { name: x-team, value: ada }
  backends:
  - llm:
      provider: OpenAI
      credentials: { key: "\\u0073k-1" }
`;

Deno.test("the source shows a placeholder in place of each secret field, and everything else as it is written", async () => {
  const shown = await edit(source).show();

  assert.equal(
    shown,
    source
      .replace("was 0123456789-secret-token", "was <redacted 1>")
      .replace("&token 0123456789-secret-token", "&token <redacted 2>")
      .replace(/>-\n.*\n.*file/, "<redacted 3>")
      .replace(/'redis:.*1'/, "'<redacted 4>'")
      .replace("opened by ada", "<redacted 5>")
      .replace('"\\u0073k-1"', '"<redacted 6>"'),
  );
});

Deno.test("placeholders that stay in their fields keep the secrets as they were written", async () => {
  const { apply, written } = edit(source);

  const same = await apply((text) => text);
  const changed = await apply((text) =>
    text.replace("port: 3000", "port: 3001").replace(
      "      - { name: x-team, value: ada }\n",
      "",
    )
  );

  assert.deepEqual(same, { diagnostics: [] });
  assert.equal(written[0], source);
  assert.deepEqual(changed, { diagnostics: [] });
  assert.match(written[1] ?? "", /3001/);
  assert.match(written[1] ?? "", /opened by ada/);
});

Deno.test("an error of a draft is at its line in the draft, also below secrets of several lines", async () => {
  const { apply } = edit(source);

  const { diagnostics } = await apply((text) =>
    text.replace("provider: OpenAI", "provider: Opal")
  );

  const lines = (await edit(source).show()).split("\n");
  const line = lines.findIndex((each) => each.includes("provider:")) + 1;
  assert.deepEqual(
    diagnostics.map((each) => [each.line, each.column]),
    [[line, lines[line - 1]?.indexOf("OpenAI") ?? 0].map((at, index) =>
      at + index
    )],
  );
});

for (
  const [title, change] of Object.entries({
    "of another header": (text: string) => text.replace("X-Door", "x-open"),
    "of a header that is no longer sensitive": (text: string) =>
      text.replace("[x-door]", "[]"),
  })
) {
  Deno.test(`a placeholder is rejected where its secret would be shown: as the value ${title}`, async () => {
    const { apply, written } = edit(source);

    const { problem } = await apply(change);

    assert.match(problem ?? "", /moved to a place where it would be shown/);
    assert.deepEqual(written, []);
  });
}

Deno.test("a placeholder is rejected in a field of another secret", async () => {
  const { apply, written } = edit(source);

  const { diagnostics } = await apply((text) =>
    text.replace('"<redacted 6>"', "<redacted 2>")
  );

  // The compiler, too, finds that it is no key.
  assert.deepEqual(
    new Set(diagnostics.map(({ path }) => path)),
    new Set(["routes[0].backends[0].llm.credentials.key"]),
  );
  assert.match(diagnostics[0]?.message ?? "", /"<redacted 2>" is not a value/);
  assert.deepEqual(written, []);
});

Deno.test("a downloaded source is rejected at each of its placeholders", async () => {
  const shown = await edit(source).show();

  const { text } = await validateConfiguration(textSource(shown), {
    TOKEN: "t",
  });

  const places = text.matchAll(/^\S+:(\d+):(\d+): error: (\S+): "<redacted/gm);
  assert.deepEqual(
    [...places].map(([, line, column, path]) => `${line}:${column} ${path}`),
    [
      "2:22 config.adminToken:",
      '2:22 config.otlp.headers.x-own["*"]:',
      "3:18 config.sessionSecret:",
      "5:16 config.kv.redis:",
      "17:32 routes[0].filters[0].requestHeaderModifier.set[0].value:",
      "22:27 routes[0].backends[0].llm.credentials.key:",
    ].map((each) => each.slice(0, -1)),
  );
  assert.match(text, /write the secret, or a reference such as "\$\{NAME\}"/);
});

const { short } = schemasOf();
const secret = "-----BEGIN planted/s3cret+value-0f6b1ce2-0f6b1ce2-----";

for (const place of secretPlaces(short.whole)) {
  Deno.test(`the source is shown without the secret at ${place}`, async () => {
    for (
      const item of [
        (value: unknown) => [value],
        (first: unknown) => ({ first }),
      ]
    ) {
      const value = place.split(".").reverse().reduce<unknown>(
        (value, step) => step === "*" ? item(value) : { [step]: value },
        secret,
      );
      for (const text of [printYaml(value), JSON.stringify(value)]) {
        const shown = await edit(text).show();

        assert.match(shown, /<redacted 1>/);
        assert.deepEqual(formsShown(shown, secret), []);
      }
    }
  });
}

Deno.test("a comparison does not show of a past configuration what is secret now", async () => {
  const textWith = (settings: string, value: string) => `
config: { ${settings} }
gateways:
  default: { port: 3000 }
routes:
- name: door
  filters:
  - type: RequestHeaderModifier
    requestHeaderModifier:
      set: [{ name: X-Door, value: ${value} }]
  policies: { directResponse: { status: 200 } }
`;
  const { compareWithPast } = edit(
    textWith("sensitiveHeaders: [x-door]", "closed"),
    textWith("drainTimeout: 5s", "opened by ada"),
  );

  const { changes, problem } = await compareWithPast();

  assert.equal(problem, undefined);
  assert.match(changes.join("\n"), /sensitiveHeaders/);
  assert.doesNotMatch(changes.join("\n"), /ada/);
});
