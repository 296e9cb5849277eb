import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { startCommand } from "../../harness/process/running_command.ts";
import { RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";

Deno.test("gwctl proxy trace injects a request and prints all of its trace", async () => {
  await using upstream = new RawUpstream(async (connection) => {
    await connection.request();
    await connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    await connection.closedByPeer();
  });
  await using gateway = await startTracedGateway({
    routes: [{
      name: "all",
      hostnames: ["api.example.com"],
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  });

  const { code, stdout, stderr } = await gatewayCommand({
    args: [
      ...["ctl", "proxy", "trace", "gateway/default", "--raw"],
      ...["--admin", new URL(gateway.admin).host, "--"],
      ...["http://api.example.com/v1?token=planted", "-H", "x-a: b"],
    ],
  }).output();

  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const text = new TextDecoder().decode(stdout);
  const events = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(events.at(0).message.type, "requestStarted");
  assert.equal(events.at(-1).message.status, 200);
  const { request } = events[1].message.requestState;
  assert.equal(request.uri, "http://api.example.com/v1?token=<redacted>");
  assert.equal(request.headers["x-a"], "b");
  assert.doesNotMatch(text, /planted/);
});

for (const workers of [1, 2]) {
  Deno.test(`gwctl proxy trace --follow shows each request once, with ${workers} worker(s)`, async () => {
    await using gateway = await GatewayProcess.start({
      config: {
        config: { workers },
        routes: [{ policies: { directResponse: { status: 200 } } }],
      },
    });
    const send = async (path: string) =>
      await (await fetch(gateway.origin + path)).text();
    await using command = startCommand({
      args: [
        ...["ctl", "proxy", "trace", "--follow", "--raw"],
        ...["--admin", new URL(gateway.admin).host],
      ],
    });
    // Requests in the meantime could fill the buffer of the watcher.
    const tasks = `${gateway.admin}/debug/tasks`;
    while ((await (await fetch(tasks)).json()).watchers.length === 0);

    const paths = ["/a", "/b", "/c", "/d"];
    await Promise.all(paths.map(send));
    // Those at the same time are shown in any order.
    await command.waitFor(/(?:"requestFinished"[^]*){4}/);
    await send("/end");
    await command.waitFor(/\/end[^]*"requestFinished"/);

    const initial = command.stdout().split("\n")
      .filter((line) => line.includes('"initial request"'));
    for (const path of paths) {
      const shown = initial.filter((line) =>
        line.includes(`${gateway.origin}${path}"`)
      );
      assert.equal(shown.length, 1, path);
    }
  });
}
