import assert from "node:assert/strict";
import {
  FairQueue,
  OwnerCounts,
} from "../../../../src/http/client/pool/fair_queue.ts";

function queueOf(...items: readonly (readonly string[])[]) {
  const queue = new FairQueue<{ readonly owners: readonly string[] }>();
  for (const owners of items) queue.add({ owners });
  return queue;
}

/** Takes all, as far as owners may. */
function drain(
  queue: ReturnType<typeof queueOf>,
  mayTake: (owners: readonly string[]) => boolean = () => true,
): string[] {
  const order: string[] = [];
  for (;;) {
    const next = queue.next(mayTake);
    if (next === undefined) return order;
    queue.delete(next);
    order.push(next.owners.join(" "));
  }
}

Deno.test("FairQueue lets clients take turns, however many requests one of them has", () => {
  const queue = queueOf(["a"], ["a"], ["a"], ["a"], ["b"], ["c"], ["c"]);

  assert.deepEqual(drain(queue), ["a", "b", "c", "a", "c", "a", "a"]);
  assert.equal(queue.length, 0);
});

Deno.test("FairQueue passes over clients that may have no more, and serves them later", () => {
  const queue = queueOf(["a", "k1"], ["a", "k2"], ["b", "k1"]);

  assert.deepEqual(drain(queue, (owners) => !owners.includes("a")), ["b k1"]);
  assert.equal(queue.length, 2);
  assert.deepEqual(drain(queue), ["a k1", "a k2"]);
});

Deno.test("FairQueue counts the requests of an address over all its keys, and of a key over all its addresses", () => {
  const queue = queueOf(["a", "k1"], ["a", "k2"], ["b", "k1"], ["a"]);

  assert.deepEqual(
    ["a", "b", "k1", "k2", "c"].map((owner) => queue.count(owner)),
    [3, 1, 2, 1, 0],
  );
  drain(queue);
  assert.equal(queue.count("a"), 0);
});

Deno.test("OwnerCounts keeps its counts while thousands of other owners come and go", () => {
  const counts = new OwnerCounts();
  counts.add(["a", "k1"]);
  for (let index = 0; index < 5000; index++) {
    counts.add(["a", `k ${index}`]);
    counts.remove(["a", `k ${index}`]);
  }
  counts.add(["a"]);

  assert.deepEqual(["a", "k1", "k 4999"].map((each) => counts.of(each)), [
    2,
    1,
    0,
  ]);
  counts.remove(["a", "k1"]);
  counts.remove(["a", "nobody"]);
  counts.remove(["a"]);
  assert.deepEqual(["a", "k1"].map((each) => counts.of(each)), [0, 0]);
});
