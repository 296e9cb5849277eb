/** The gateway as a library, as `mod.ts` documents it. */
import assert from "node:assert/strict";
import {
  type ConfigText,
  ConfigurationError,
  type ConfigurationSource,
  Gateway,
  textSource,
} from "../../mod.ts";
import { freePort } from "../harness/free_port.ts";

const module = new URL("../../mod.ts", import.meta.url);

const port = freePort();

function textFor(body: string): string {
  return JSON.stringify({
    gateways: { default: { port, address: "127.0.0.1" } },
    routes: [{ policies: { directResponse: { status: 200, body } } }],
  });
}

async function ask(): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/`);
  return await response.text();
}

Deno.test("example of the library compiles and runs", async () => {
  const [, example = ""] = /```ts\n([^]*?)```/.exec(
    (await Deno.readTextFile(module)).replaceAll(/^ \* ?/gm, ""),
  ) ?? [];
  const program = example
    .replace("./mod.ts", module.href)
    .replace("port: 8080", `port: ${freePort()}`);
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, program);

  const config = new URL("../../deno.json", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--check", "--quiet", `--config=${config}`, file],
    env: { NO_COLOR: "1" },
  }).output();
  await Deno.remove(file);

  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.match(new TextDecoder().decode(stdout), /hostname: "127\.0\.0\.1"/);
});

Deno.test("library applies what its source says when it is told to reload, and stops", async () => {
  let text = textFor("one");
  const source: ConfigurationSource = {
    read: (): Promise<readonly ConfigText[]> =>
      Promise.resolve([{ name: "memory", text }]),
    watch: () => Promise.resolve((async function* () {})()),
  };
  const gateway = await Gateway.start({ config: source });
  assert.equal(await ask(), "one");

  text = textFor("two");
  await gateway.reload();
  assert.equal(await ask(), "two");

  text = "gateways: {}}";
  await gateway.reload();
  assert.equal(await ask(), "two");
  assert.match(
    gateway.status().lastRejected?.diagnostics[0] ?? "",
    /^memory:1:\d+: error: /,
  );

  await gateway.stop(0);
  assert.equal(gateway.readiness(), "draining");
  assert.deepEqual(await gateway.addresses(), []);
});

Deno.test("library throws every mistake in the configuration that it is started with", async () => {
  const config = textSource("gateways: { a: { prot: 1 } }\nroute: []\n");

  await assert.rejects(Gateway.start({ config }), (error) => {
    assert(error instanceof ConfigurationError);
    assert.deepEqual(
      error.diagnostics.map(({ line, path }) => `${line} ${path}`),
      ["1 gateways.a.prot", "2 route"],
    );
    return true;
  });
});
