import assert from "node:assert/strict";
import { noopServices } from "../../../src/policy/noop_services.ts";
import { StatusEvents } from "../../../src/cluster/status/status_events.ts";
import { failure, FakeApiServer } from "./client/fake_api_server.ts";

const NOW = Date.UTC(2026, 0, 1);
const { signal } = new AbortController();

function status(accepted: string, message: string) {
  const conditions = [
    { type: "Accepted", status: accepted, reason: "Because", message },
    { type: "Conflicted", status: "False", reason: "NoConflicts", message: "" },
  ];
  return { parents: [{ conditions }] };
}

function route(before: object) {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    metadata: { name: "r", namespace: "team", uid: "1" },
    status: before,
  };
}

function eventsOf({ api }: FakeApiServer): StatusEvents {
  const { log } = noopServices();
  return new StatusEvents({
    api,
    log,
    controllerName: "example.com/gateway",
    identity: "pod-1",
  });
}

Deno.test("a condition that becomes false is an Event of its object, once", async () => {
  await using server = new FakeApiServer(() => ({}));
  const events = eventsOf(server);
  const rejected = status("False", "no listener");
  const object = route(status("True", ""));
  await events.write({ object, status: rejected }, NOW, signal);
  const same = route(rejected);
  await events.write({ object: same, status: rejected }, NOW, signal);
  assert.deepEqual(server.calls.map(({ method, path }) => [method, path]), [
    ["POST", "/apis/events.k8s.io/v1/namespaces/team/events"],
  ]);
  assert.deepEqual(server.calls[0]?.body, {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { generateName: "r.", namespace: "team" },
    eventTime: "2026-01-01T00:00:00.000000Z",
    type: "Warning",
    action: "Accepted",
    reason: "Because",
    note: "no listener",
    regarding: {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      name: "r",
      namespace: "team",
      uid: "1",
    },
    reportingController: "example.com/gateway",
    reportingInstance: "pod-1",
  });
});

Deno.test("without the right to write Events, one attempt is made", async () => {
  await using server = new FakeApiServer(() => failure(403, "Forbidden"));
  const events = eventsOf(server);
  for (const message of ["a", "b"]) {
    const rejected = status("False", message);
    await events.write({ object: route({}), status: rejected }, NOW, signal);
  }
  assert.equal(server.calls.length, 1);
});
