import assert from "node:assert/strict";
import { freePort } from "../../harness/process/free_port.ts";
import {
  gatewayCommandLine,
  Terminal,
} from "../../harness/process/terminal.ts";

async function runGateway(
  env: Readonly<Record<string, string>>,
  use: (terminal: Terminal, port: number) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    `config: { adminAddr: "off", statsAddr: "off", workers: 1 }
gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
- { name: hello, policies: { directResponse: { status: 200, body: hello } } }
`,
  );
  try {
    await using terminal = await Terminal.open(160, 24, env);
    await terminal.run(gatewayCommandLine(["-f", file]));
    await terminal.waitFor(/admin\s+Listening/);
    await use(terminal, port);
    await terminal.press("C-c");
    await terminal.waitFor(/^shell> *$/m);
  } finally {
    await Deno.remove(file);
  }
}

async function request(port: number, path: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  await response.body?.cancel();
}

Deno.test("on a terminal, the access log is short and has colors", async () => {
  await runGateway({ NO_COLOR: "" }, async (terminal, port) => {
    await request(port, "/a?token=secret");
    const screen = await terminal.waitFor(
      /^\d\d:\d\d:\d\d GET {2}\/a 200 [0-9.]+ms .*request\.id=/m,
    );
    assert.doesNotMatch(screen, /secret/);
    assert.match(await terminal.colours(), /\[32m200/);
  });
});

Deno.test("NO_COLOR turns off the colors of the access log", async () => {
  await runGateway({ NO_COLOR: "1" }, async (terminal, port) => {
    await request(port, "/a");
    await terminal.waitFor(/^\d\d:\d\d:\d\d GET {2}\/a 200 [0-9.]+ms /m);
    assert.doesNotMatch(await terminal.colours(), /\[[0-9;]*3[0-9]m/);
  });
});

Deno.test("on a terminal, both logs have the same times", async () => {
  await runGateway({ NO_COLOR: "1" }, async (terminal, port) => {
    await request(port, "/a");
    const screen = await terminal.waitFor(/^\d\d:\d\d:\d\d GET {2}\/a 200 /m);
    assert.match(screen, /^\d\d:\d\d:\d\d\s+info\s+admin\s+Listening/m);
    assert.doesNotMatch(screen, /^\d{4}-\d\d-\d\dT/m);
  });
});
