import assert from "node:assert/strict";
import { shortAccessLines } from "../../../../cli/output/access_line.ts";
import { createAccessLog } from "../../../../src/telemetry/log/access_log.ts";
import type { FinishedRequest } from "../../../../src/telemetry/log/finished_request.ts";

const time = new Date(2026, 0, 31, 9, 5, 7).getTime();

const forwarded: FinishedRequest = {
  time,
  durationMs: 12.3456,
  port: 3000,
  gateway: "default",
  listener: "http",
  route: "default/mcp/0",
  backend: "default/mcp/backend0",
  endpoint: "127.0.0.1:9000",
  source: "127.0.0.1:51000",
  client: "",
  method: "POST",
  host: "api.example.com",
  path: "/mcp",
  version: "1.1",
  status: 200,
  bytesSent: 42,
  requestId: "6f0c1a52",
  upstreamDurationMs: 11,
  reason: "upstream",
  retries: 0,
};

/** Formats a request like the gateway, then for a terminal. */
function shortLine(
  request: FinishedRequest,
  { hasColor = false, format = "text" as "text" | "json" } = {},
): string {
  let lines = "";
  createAccessLog({
    write: (line) => lines += line,
    format,
    log: { isEnabled: () => true } as never,
  })(request);
  return shortAccessLines(lines, hasColor);
}

Deno.test("a line on a terminal begins with method, path, status and time, and ends with IDs", () => {
  assert.equal(
    shortLine(forwarded),
    "09:05:07 POST /mcp 200 12.346ms route=default/mcp/0 backend=default/mcp/backend0 http.host=api.example.com request.id=6f0c1a52\n",
  );
});

Deno.test("a line on a terminal shows why a request failed, with its quotes", () => {
  const denied = {
    ...forwarded,
    status: 403,
    reason: "authorization",
    error: 'rule "a b" is \x1b[31m false',
  };

  const line = shortLine(denied);

  assert.match(
    line,
    / reason=authorization error="rule \\"a b\\" is \\u001b\[31m false" request\.id=/,
  );
});

Deno.test("the color of a status is that of its class", () => {
  const colors = [200, 302, 404, 503].map((status) =>
    // deno-lint-ignore no-control-regex -- the language of terminals
    /\x1b\[([0-9;]+)m[0-9]{3}\x1b\[0m/.exec(
      shortLine({ ...forwarded, status }, { hasColor: true }),
    )?.[1]
  );

  assert.deepEqual(colors, ["32", "36", "33", "31;1"]);
  assert.doesNotMatch(shortLine(forwarded), /\[/);
});

Deno.test("a request without method and path has a short line too", () => {
  const unread = { ...forwarded, method: "", path: "", durationMs: undefined };

  assert.match(shortLine(unread), /^09:05:07 - {4}- 200 - /);
});

Deno.test("JSON and lines of another form stay as they are", () => {
  const json = shortLine(forwarded, { format: "json" });

  assert.equal(JSON.parse(json)["http.path"], "/mcp");
  assert.equal(shortAccessLines("one\ttwo\n", true), "one\ttwo\n");
});

Deno.test("all lines of a batch are shortened", () => {
  const batch = shortLine(forwarded, { format: "json" }) + "x\n";

  assert.equal(shortAccessLines(batch, false), batch);
  assert.equal(shortAccessLines("", false), "");
});
