import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  startUiGateway,
  UI_AUTHORIZATION,
} from "../../harness/browser/ui_gateway.ts";

const adminToken = "0123456789abcdef";
const password = 'it\'s "secret" of ada';

const route = {
  name: "hello",
  matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
  policies: {
    directResponse: { status: 200, body: "first" },
    apiKeyAuthentication: {
      keys: [{ key: password, metadata: { team: "blue" } }],
    },
  },
};

interface Source {
  readonly hash: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly isWritable: boolean;
}

interface DraftResult {
  readonly diagnostics: readonly {
    readonly line: number;
    readonly column: number;
    readonly message: string;
  }[];
  readonly problem?: string;
}

class Client {
  readonly #admin: string;
  readonly #token: string | undefined;

  constructor(admin: string, token?: string) {
    this.#admin = admin;
    this.#token = token;
  }

  send(path: string, body?: unknown, site = "same-origin"): Promise<Response> {
    return fetch(`${this.#admin}/ui/api/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        "sec-fetch-site": site,
        ...(this.#token && { authorization: `Bearer ${this.#token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async source(): Promise<Source> {
    return await (await this.send("source")).json();
  }

  async post(path: string, body: unknown): Promise<DraftResult> {
    return await (await this.send(path, body)).json();
  }
}

function draftOf(
  { hash, files: [file] }: Source,
  change: (text: string) => string,
) {
  return { hash, name: file?.name ?? "", text: change(file?.text ?? "") };
}

function start(config: object = {}): Promise<GatewayProcess> {
  return GatewayProcess.start({
    config: { config: { adminToken, ...config }, routes: [route] },
  });
}

Deno.test("the source is shown without secrets, checked as it is typed, and applied with them", async () => {
  await using gateway = await start();
  const client = new Client(gateway.admin, adminToken);

  const source = await client.source();
  const shown = source.files[0]?.text ?? "";
  const wrong = await client.post(
    "source/check",
    draftOf(source, (text) => text.replace('"body"', '"bdoy"')),
  );
  const right = draftOf(source, (text) => text.replace('"first"', '"second"'));
  const checked = await client.post("source/check", right);
  const before = await (await fetch(`${gateway.origin}/hello`, {
    headers: { authorization: `Bearer ${password}` },
  })).text();
  const applied = await client.post("source/apply", right);
  const after = await (await fetch(`${gateway.origin}/hello`, {
    headers: { authorization: `Bearer ${password}` },
  })).text();

  assert.doesNotMatch(shown, /secret|0123456789abcdef/);
  assert.match(shown, /<redacted \d>/);
  assert.match(wrong.diagnostics[0]?.message ?? "", /unknown field/);
  assert.deepEqual(checked, { diagnostics: [] });
  assert.equal(before, "first");
  assert.deepEqual(applied, { diagnostics: [] });
  assert.equal(after, "second");
  assert.match(await Deno.readTextFile(gateway.file), /of ada/);
});

Deno.test("a placeholder of a secret is rejected in any other field, with its position", async () => {
  await using gateway = await start();
  const client = new Client(gateway.admin, adminToken);
  const source = await client.source();
  const [marker = ""] =
    /<redacted \d>/.exec(source.files[0]?.text.split("apiKey")[1] ?? "") ?? [];

  const moved = await client.post(
    "source/apply",
    draftOf(source, (text) => text.replace('"first"', `"${marker}"`)),
  );
  const unknown = await client.post(
    "source/check",
    draftOf(source, (text) => text.replace('"first"', '"<redacted 99>"')),
  );
  const named = await client.post(
    "source/check",
    draftOf(source, (text) => text.replace('"PathPrefix"', `"${marker}"`)),
  );

  const inToken = await client.post(
    "source/apply",
    draftOf(
      source,
      (text) => text.replace(/("adminToken":)"<redacted \d>"/, `$1"${marker}"`),
    ),
  );
  const longer = await client.post(
    "source/apply",
    draftOf(source, (text) => text.replace(marker, `${marker} and more`)),
  );

  assert.notEqual(marker, "");
  for (const { diagnostics } of [moved, unknown, named, inToken, longer]) {
    const message = diagnostics[0]?.message ?? "";
    assert.match(
      message,
      /"<redacted \d+>" is not a value: .* write the secret/,
    );
  }
  const { line = 0, column = 0 } = inToken.diagnostics[0] ?? {};
  const text = source.files[0]?.text ?? "";
  assert.equal(line, 1);
  assert.equal(
    column,
    text.indexOf('"<redacted', text.indexOf("adminToken")) + 1,
  );
  assert.doesNotMatch(
    JSON.stringify([moved, unknown, named, inToken]),
    /of ada/,
  );
  assert.match(await Deno.readTextFile(gateway.file), /first/);
});

Deno.test("metadata of keys, and words that equal a secret, stay readable in the source", async () => {
  const { policies } = route;
  const keys = [
    { key: "fast", metadata: { team: "red", models: ["fast"] } },
    { key: `${password} and bob`, metadata: { note: password } },
  ];
  await using gateway = await GatewayProcess.start({
    config: {
      config: { adminToken },
      routes: [{
        ...route,
        name: "fast",
        matches: [{ path: { type: "PathPrefix", value: "/fast" } }],
        policies: {
          ...policies,
          directResponse: { status: 200, body: "shared" },
          apiKeyAuthentication: { keys },
        },
      }],
    },
  });
  const client = new Client(gateway.admin, adminToken);

  const source = await client.source();
  const text = source.files[0]?.text ?? "";
  const applied = await client.post(
    "source/apply",
    draftOf(source, (text) => text.replace('"shared"', '"hundred"')),
  );

  assert.match(text, /"shared"/);
  assert.match(text, /"name":"fast","matches".*"\/fast"/);
  assert.match(
    text,
    /{"key":"<redacted \d>","metadata":{"team":"red","models":\["fast"\]}}/,
  );
  assert.match(text, /"metadata":{"note":"<redacted \d>"}/);
  // Keys that are words are short.
  const [{ message } = { message: "" }, ...others] = applied.diagnostics;
  assert.match(message, /fewer than 16 characters/);
  assert.deepEqual(others, []);
  const written = await Deno.readTextFile(gateway.file);
  assert.match(written, /"hundred"/);
  assert.match(written, /"red"/);
  assert.match(written, /"key":"fast"/);
});

Deno.test("a draft of an older configuration, and of another file, is rejected", async () => {
  await using gateway = await start();
  const client = new Client(gateway.admin, adminToken);
  const source = await client.source();
  const draft = draftOf(source, (text) => text);

  const old = await client.post("source/apply", {
    ...draft,
    hash: "0".repeat(64),
  });
  const other = await client.post("source/apply", {
    ...draft,
    name: "/etc/passwd",
  });

  assert.match(old.problem ?? "", /has changed/);
  assert.match(other.problem ?? "", /is no file of the configuration/);
});

Deno.test("a file that others have changed since it was applied is not overwritten", async () => {
  await using gateway = await start();
  const client = new Client(gateway.admin, adminToken);
  const draft = draftOf(
    await client.source(),
    (text) => text.replace('"first"', '"second"'),
  );
  const changed = `${await Deno.readTextFile(gateway.file)}\nroutes: [{ unfin`;
  await Deno.writeTextFile(gateway.file, changed);

  const { problem = "" } = await client.post("source/apply", draft);

  assert.match(problem, /the source has changed and is not in force/);
  assert.equal(await Deno.readTextFile(gateway.file), changed);
});

Deno.test("a file that cannot be written is checked, and applying says so", async () => {
  await using gateway = await start();
  const client = new Client(gateway.admin, adminToken);
  const link = `${gateway.file}.target`;
  await Deno.rename(gateway.file, link);
  await Deno.symlink(link, gateway.file);
  const source = await client.source();
  const draft = draftOf(
    source,
    (text) => text.replace('"first"', '"second"'),
  );

  const { problem = "" } = await client.post("source/apply", draft);

  assert.match(problem, /cannot be written|Cannot write/);
  assert.match(await Deno.readTextFile(link), /first/);
});

Deno.test("changes need the admin token to be set, the page to send them, and a file that can be written", async () => {
  await using open = await GatewayProcess.start({
    config: { routes: [route] },
  });
  await using closed = await start();
  const anyone = new Client(open.admin);
  const client = new Client(closed.admin, adminToken);
  const source = await client.source();
  const draft = draftOf(source, (text) => text);

  const statusOf = async (response: Promise<Response>) => {
    const { status, body } = await response;
    await body?.cancel();
    return status;
  };

  assert.equal((await anyone.source()).isWritable, false);
  assert.equal(
    await statusOf(
      anyone.send(
        "source/apply",
        draftOf(await anyone.source(), (text) => text),
      ),
    ),
    403,
  );
  assert.equal(await statusOf(new Client(closed.admin).send("source")), 401);
  assert.equal(
    await statusOf(new Client(closed.admin).send("source/apply", draft)),
    401,
  );
  assert.equal(
    await statusOf(client.send("source/apply", draft, "cross-site")),
    403,
  );
  assert.equal(await statusOf(client.send("source/check", [])), 400);
});

Deno.test("a gateway that serves the web UI shows the source, and neither checks nor applies drafts", async () => {
  await using gateway = await startUiGateway({ access: "ReadWrite" });
  const statusOf = async (path: string, method: string) => {
    const { status, body } = await fetch(`${gateway.origin}/ui/api/${path}`, {
      method,
      headers: {
        authorization: UI_AUTHORIZATION,
        "sec-fetch-site": "same-origin",
      },
    });
    await body?.cancel();
    return status;
  };

  assert.equal(await statusOf("source", "GET"), 200);
  assert.equal(await statusOf("source/check", "POST"), 404);
  assert.equal(await statusOf("source/apply", "POST"), 404);
});
