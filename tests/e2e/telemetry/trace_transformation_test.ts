import assert from "node:assert/strict";
import type { TraceEvent } from "../../../src/telemetry/trace/trace_event.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { upstreamThatSaysOk } from "../../harness/gateway/limited_gateway.ts";
import {
  eventsOf,
  startTracedGateway,
} from "../../harness/gateway/traced_gateway.ts";

/** Event of a transformation: severity and details. */
async function toldBy(
  transformation: Readonly<Record<string, unknown>>,
): Promise<readonly unknown[]> {
  await using upstream = upstreamThatSaysOk();
  await using gateway = await startTracedGateway({
    routes: [{
      name: "all",
      policies: { transformation },
      backends: [{ host: `127.0.0.1:${upstream.port}` }],
    }],
  });
  const events = eventsOf(await gateway.watch());
  await fetchRaw(gateway.origin);
  return (await events).flatMap(tell);
}

function tell({ severity, message }: TraceEvent): readonly unknown[] {
  switch (message.type) {
    case "policy":
      return [[severity, message.result]];
    case "policyEvent":
      return [[severity, message.details]];
    default:
      return [];
  }
}

Deno.test("a trace warns of headers without a value", async () => {
  const set = [{ name: "x-a", value: "request.headers['x-missing']" }];
  const add = [{ name: "x-b", value: "'b'" }];
  assert.deepEqual(await toldBy({ request: { set, add } }), [[
    "warn",
    {
      type: "apply",
      details: {
        set: ["x-b"],
        failed: { "x-a": "field not found: x-missing" },
        body: false,
      },
      snapshot: null,
    },
  ]]);
});

Deno.test("a trace shows the changes of a transformation to the response", async () => {
  const set = [
    { name: ":status", value: "202" },
    { name: "x-a", value: "response.headers['x-missing']" },
    { name: "x-b", value: "'b'" },
  ];
  assert.deepEqual(await toldBy({ response: { set, body: "'new'" } }), [
    ["info", { type: "skip", reason: "it changes responses only" }],
    ["warn", {
      response: {
        set: [":status", "x-b"],
        failed: { "x-a": "field not found: x-missing" },
        body: true,
      },
    }],
  ]);
});
