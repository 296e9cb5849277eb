import assert from "node:assert/strict";
import { createLogger } from "../../../../src/base/log/log.ts";
import { parseLogFilter } from "../../../../src/base/log/log_filter.ts";
import type { LogFormat } from "../../../../src/base/log/log_text.ts";
import { createAccessLog } from "../../../../src/telemetry/log/access_log.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { finishedRequest } from "../finished_request.ts";

function createTestLog(format: LogFormat = "text") {
  const lines: string[] = [];
  const logger = createLogger({
    write() {},
    clock: new FakeClock(),
    format,
    filter: parseLogFilter("info"),
  });
  const accessLog = createAccessLog({
    write: (line) => lines.push(line),
    format,
    log: logger.module("request"),
  });
  return { accessLog, lines, logger };
}

Deno.test("AccessLog writes a request as one line of text", () => {
  const { accessLog, lines } = createTestLog();

  accessLog(finishedRequest);

  assert.deepEqual(lines, [
    "2026-01-01T00:00:00.000Z\tinfo\trequest gateway=default listener=http route=mcp backend=tools " +
    "endpoint=127.0.0.1:9000 src.addr=127.0.0.1:51000 http.method=GET http.host=example.com http.path=/mcp " +
    "http.version=HTTP/1.1 http.status=200 bytes=300 request.id=id-1 reason=upstream " +
    "upstream.duration=2.5ms duration=3.142ms\n",
  ]);
});

Deno.test("AccessLog redacts the signature of a token in the path", () => {
  const { accessLog, lines } = createTestLog();

  accessLog({
    ...finishedRequest,
    path: "/files/eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln",
  });

  assert.match(
    lines.join(""),
    / http\.path=\/files\/eyJhbGciOiJub25lIn0\.eyJzdWIiOiJhIn0\.<redacted> /,
  );
});

Deno.test("AccessLog writes a request as one line of JSON", () => {
  const { accessLog, lines } = createTestLog("json");

  accessLog(finishedRequest);

  assert.deepEqual(lines.map((line) => JSON.parse(line)), [{
    level: "info",
    time: "2026-01-01T00:00:00.000Z",
    scope: "request",
    gateway: "default",
    listener: "http",
    route: "mcp",
    backend: "tools",
    endpoint: "127.0.0.1:9000",
    "src.addr": "127.0.0.1:51000",
    "http.method": "GET",
    "http.host": "example.com",
    "http.path": "/mcp",
    "http.version": "HTTP/1.1",
    "http.status": 200,
    bytes: 300,
    "request.id": "id-1",
    reason: "upstream",
    "upstream.duration": "2.5ms",
    duration: "3.142ms",
  }]);
});

Deno.test("AccessLog omits the fields that a rejected request did not reach, and has the reason", () => {
  const { accessLog, lines } = createTestLog();

  accessLog({
    ...finishedRequest,
    route: undefined,
    backend: undefined,
    endpoint: undefined,
    upstreamDurationMs: undefined,
    status: 404,
    reason: "route_not_found",
    error: "No route matches",
    retries: 2,
  });

  assert.match(lines.join(""), / listener=http src\.addr=/);
  assert.match(
    lines.join(""),
    / reason=route_not_found error="No route matches" retry\.attempt=2 duration=3\.142ms\n$/,
  );
});

for (
  const { name, level, fields } of [
    {
      name: "a failure of the gateway as a warning",
      level: "warn",
      fields: { status: 503, reason: "upstream_connect_failed" },
    },
    {
      name: "an error response of the upstream as information",
      level: "info",
      fields: { status: 503, reason: "upstream" },
    },
    {
      name: "an error response of a policy as information",
      level: "info",
      fields: { status: 503, reason: "direct_response" },
    },
    {
      name: "a denied client as information",
      level: "info",
      fields: { status: 404, reason: "route_not_found" },
    },
  ] as const
) {
  Deno.test(`AccessLog writes ${name}`, () => {
    const text = createTestLog();
    const json = createTestLog("json");

    text.accessLog({ ...finishedRequest, ...fields });
    json.accessLog({ ...finishedRequest, ...fields });

    assert.equal(text.lines.join("").split("\t")[1], level);
    assert.equal(JSON.parse(json.lines.join("")).level, level);
  });
}

Deno.test("AccessLog has the port of a request that reached no gateway", () => {
  const { accessLog, lines } = createTestLog();

  accessLog({
    ...finishedRequest,
    durationMs: undefined,
    upstreamDurationMs: undefined,
    gateway: undefined,
    listener: undefined,
    route: undefined,
    backend: undefined,
    endpoint: undefined,
    method: "",
    host: "",
    path: "",
    version: "",
    requestId: "",
    status: 431,
    reason: "head_too_large",
    error: "too large",
  });

  assert.deepEqual(lines, [
    "2026-01-01T00:00:00.000Z\tinfo\trequest port=3000 src.addr=127.0.0.1:51000 http.status=431 bytes=300 " +
    'reason=head_too_large error="too large"\n',
  ]);
});

for (const format of ["text", "json"] as const) {
  Deno.test(`AccessLog keeps what a client sends inside its ${format} field`, () => {
    const { accessLog, lines } = createTestLog(format);

    accessLog({
      ...finishedRequest,
      path: '/a" b\n\u001b[2J',
      host: "x\r\nlevel=error",
      method: "G=T",
    });

    assert.equal(lines.length, 1);
    assert.match(lines.join(""), /^[\x20-\x7e\t]*\n$/);
    assert.match(lines.join(""), /"\/a\\" b\\n\\u001b\[2J"/);
  });
}

Deno.test("AccessLog prints the time of each request", () => {
  const { accessLog, lines } = createTestLog();

  accessLog(finishedRequest);
  accessLog({ ...finishedRequest, time: finishedRequest.time + 1 });
  accessLog(finishedRequest);

  assert.deepEqual(lines.map((line) => line.slice(20, 24)), [
    "000Z",
    "001Z",
    "000Z",
  ]);
});

Deno.test("AccessLog obeys the log filter", () => {
  const { accessLog, lines, logger } = createTestLog();

  logger.setFilter(parseLogFilter("info,request=off"));
  accessLog(finishedRequest);

  assert.deepEqual(lines, []);
});
