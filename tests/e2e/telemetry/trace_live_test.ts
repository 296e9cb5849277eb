import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
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
