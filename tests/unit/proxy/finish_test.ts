import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/errors.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import { StalledClientError } from "../../../src/http/server/contract/request_error.ts";
import { Attempts } from "../../../src/proxy/request/attempts.ts";
import type { Exchange } from "../../../src/proxy/exchange/exchange.ts";
import { observeFinishedRequests } from "../../../src/proxy/finish.ts";
import type { FinishedRequest } from "../../../src/telemetry/log/finished_request.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";

const exchange = {
  startedAt: 0,
  attempts: new Attempts(0),
  routed: {},
  originalRequest: { method: "GET", target: "/mcp", authority: "gw" },
  request: { source: { address: "127.0.0.1", port: 1 }, version: "1.1" },
} as unknown as Exchange;

/** The record of a response that `error` ended. */
function recordOf(status: number, error: unknown) {
  const records: FinishedRequest[] = [];
  const observe = observeFinishedRequests(
    new FakeClock(),
    (record) => records.push(record),
  );
  const response = { status, headers: new HeaderList(), body: undefined };
  observe(exchange, response, { bytesSent: 7, error });
  const [record] = records;
  return { reason: record?.reason, error: record?.error };
}

const left = new GatewayError(
  "client_closed",
  "downstream",
  "Cannot respond: connection lost",
);

Deno.test("the record of a response that the client closed has no error", () => {
  assert.deepEqual(recordOf(200, left), {
    reason: "client_closed",
    error: undefined,
  });
});

Deno.test("only responses that were delivered before they are counted are unsettled", async () => {
  for (const [error, unsettled] of [[undefined, 1], [left, 0]] as const) {
    const records: FinishedRequest[] = [];
    const added: Promise<void>[] = [];
    const observe = observeFinishedRequests(
      new FakeClock(),
      (record) => records.push(record),
      { add: (counted) => added.push(counted) },
    );
    const counting = Promise.resolve();
    observe(
      { ...exchange, meter: { counts: { counting } } } as unknown as Exchange,
      {
        status: 200,
        headers: new HeaderList(),
        body: undefined,
      },
      { bytesSent: 7, error },
    );

    assert.equal(added.length, unsettled);
    assert.equal(records.length, 0);
    await counting.then(() => {});
    assert.equal(records.length, 1);
  }
});

Deno.test("the record of a response that something else ended has the error", () => {
  const closed = new GatewayError("upstream_closed", "upstream", "It closed");

  assert.deepEqual(recordOf(200, closed), {
    reason: "upstream_closed",
    error: "It closed",
  });
  assert.deepEqual(recordOf(200, new StalledClientError()), {
    reason: "client_closed",
    error: "Cannot respond: the client does not read (no data in time)",
  });
  assert.deepEqual(recordOf(499, left), {
    reason: "client_closed",
    error: "Cannot respond: connection lost",
  });
});
