import assert from "node:assert/strict";
import { createCollections } from "../../../src/cluster/source/collections.ts";
import { StatusEvents } from "../../../src/cluster/status/status_events.ts";
import { StatusWriter } from "../../../src/cluster/status/status_writer.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../harness/telemetry/recorded_log.ts";
import { failure, FakeApiServer } from "./client/fake_api_server.ts";

const { signal } = new AbortController();

function desired(kind: string, name: string) {
  return {
    object: { kind, metadata: { name, namespace: "team", uid: name } },
    status: { parents: [{ conditions: [] }] },
  };
}

Deno.test("a right that is missing costs one request for its kind, is named once, and keeps no other status back", async () => {
  let isDenied = true;
  await using server = new FakeApiServer(({ path }) =>
    isDenied && path.includes("httproutes")
      ? failure(403, "Forbidden: cannot update httproutes/status")
      : {}
  );
  const { api } = server;
  const [clock, log] = [new FakeClock(), new RecordedLog()];
  const writer = new StatusWriter({
    ...{ api, clock, log },
    stored: new WeakMap(),
    collections: createCollections("example.com"),
    events: new StatusEvents({
      ...{ api, log },
      controllerName: "example.com/gateway",
      identity: "pod-1",
    }),
  });
  const statuses = [
    ...Array.from({ length: 20 }, (_, i) => desired("HTTPRoute", `r${i}`)),
    desired("Gateway", "gw"),
  ];
  const written = () =>
    server.calls.splice(0).map(({ path }) => path.split("/").at(-2));

  assert.equal(await writer.write(statuses, signal), 0);
  assert.equal(writer.isDenied, true);
  const first = written();
  assert(first.includes("gw"));
  // Those that were under way at the same time.
  assert(first.length <= 9, first.join());
  await writer.write(statuses, signal);
  assert.deepEqual(log.messages("error"), [
    "May not write statuses of this kind",
  ]);

  isDenied = false;
  written();
  assert.equal(await writer.write(statuses, signal), 0);
  assert.equal(writer.isDenied, false);
  assert.equal(written().length, statuses.length);
});

Deno.test("a status that the API server finds invalid is written again only when it or its object has changed", async () => {
  await using server = new FakeApiServer(() =>
    failure(422, "Invalid: status.parents: Too many")
  );
  const { api } = server;
  const [clock, log] = [new FakeClock(), new RecordedLog()];
  const writer = new StatusWriter({
    ...{ api, clock, log },
    stored: new WeakMap(),
    collections: createCollections("example.com"),
    events: new StatusEvents({
      ...{ api, log },
      controllerName: "example.com/gateway",
      identity: "pod-1",
    }),
  });
  const written = async (status: ReturnType<typeof desired>) => {
    assert.equal(await writer.write([status], signal), 0);
    return server.calls.splice(0).length;
  };
  const first = desired("HTTPRoute", "r");

  assert.equal(await written(first), 1);
  assert.equal(await written(first), 0);
  assert.deepEqual(log.messages("warn"), ["Cannot write the status"]);
  assert.equal(await written({ ...first, status: { parents: [] } }), 1);
  assert.equal(await written(desired("HTTPRoute", "r")), 1);
});
