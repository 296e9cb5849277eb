import assert from "node:assert/strict";
import {
  createConnectionMemory,
  SharedConnections,
} from "../../../../src/dataplane/state/shared_connections.ts";

function createWorkers() {
  const memory = createConnectionMemory(2);
  const at = (thread: number, worker: number) =>
    new SharedConnections(memory, { thread, worker });
  return { control: at(1, 0), one: at(2, 1), two: at(3, 2) };
}

Deno.test("connections count for their port and client, in all workers", () => {
  const { one, two } = createWorkers();
  const release = one.ofPort("80").add("10.0.0.1");
  two.ofPort("80").add("10.0.0.1");
  two.ofPort("80").add("10.0.0.2");
  two.ofPort("81").add("10.0.0.1");

  assert.equal(one.ofPort("80").total(), 3);
  assert.equal(one.ofPort("80").of("10.0.0.1"), 2);
  assert.equal(two.ofPort("80").of("10.0.0.2"), 1);
  release();
  assert.equal(two.ofPort("80").total(), 2);
  assert.equal(two.ofPort("80").of("10.0.0.1"), 1);
});

Deno.test("the connections of a worker that ended are forgotten", () => {
  const { control, one, two } = createWorkers();
  const release = one.ofPort("80").add("10.0.0.1");
  two.ofPort("80").add("10.0.0.1");

  control.removeWorker(1);

  assert.equal(two.ofPort("80").total(), 1);
  assert.equal(two.ofPort("80").of("10.0.0.1"), 1);
  release();
  assert.equal(two.ofPort("80").total(), 1);
});
