import assert from "node:assert/strict";
import { freePort } from "../../harness/process/free_port.ts";

const root = new URL("../../../", import.meta.url);
const escape = "\x1b";

function makeRun(...options: string[]): Deno.Command {
  return new Deno.Command("make", {
    args: ["run", `ARGS=${options.join(" ")} --stats off`],
    cwd: root,
    // As typed by a person: a make around this one would have it name its directory.
    env: { MAKEFLAGS: "", MAKELEVEL: "" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

Deno.test("make run says what it starts, prints its guide and nothing else, and ends with 0", async () => {
  // Else it says that it fetches dependencies.
  await new Deno.Command(Deno.execPath(), {
    args: ["cache", "--quiet", "main.ts"],
    cwd: root,
  }).output();
  const admin = `127.0.0.1:${freePort()}`;
  const child = makeRun("--port", String(freePort()), "--admin", admin).spawn();
  const log = new Response(child.stderr).text();
  let guide = "";
  for await (
    const text of child.stdout.pipeThrough(new TextDecoderStream()).values({
      preventCancel: true,
    })
  ) {
    guide += text;
    if (guide.includes("Press Ctrl-C to stop.")) break;
  }

  const response = await fetch(`http://${admin}/quitquitquit`, {
    method: "POST",
  });
  await response.text();

  assert.equal((await child.status).code, 0);
  assert(guide.startsWith("\nThe gateway is running"), guide);
  const lines = (await log).split("\n").filter((line) => line !== "");
  assert.deepEqual(
    lines.filter((line) => !/^[0-9-]+T[0-9:.]+Z\tinfo\t/.test(line)),
    [
      "Loading the gateway…",
      "Starting demo MCP servers, an LLM server, two identity providers and the gateway…",
    ],
  );
  assert(!(guide + lines.join()).includes(escape));
});

Deno.test("make run reports how to choose another port, and keeps the other options", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });

  const { code, stderr } = await makeRun("--port", String(taken.addr.port))
    .output();

  assert.notEqual(code, 0);
  assert.match(
    new TextDecoder().decode(stderr),
    /another program uses it\. Select another one with make run ARGS="--port <port> --stats off"\n/,
  );
});

Deno.test("make run reports how to choose another admin address, and keeps the other options", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(freePort());

  const { code, stderr } = await makeRun(
    "--port",
    port,
    "--admin",
    `127.0.0.1:${taken.addr.port}`,
  ).output();

  assert.notEqual(code, 0);
  assert(
    new TextDecoder().decode(stderr).includes(
      `Select another one with make run ARGS="--port ${port} --admin <address> --stats off"\n`,
    ),
  );
});
