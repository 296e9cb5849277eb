import assert from "node:assert/strict";
import { ThreadLock } from "../../../../src/ratelimit/shared/thread_lock.ts";

const CONTROL = 1;
const WORKER = 2;

function createLocks(): readonly [control: ThreadLock, worker: ThreadLock] {
  const words = new Int32Array(new SharedArrayBuffer(8));
  return [new ThreadLock(words, 0, CONTROL), new ThreadLock(words, 0, WORKER)];
}

Deno.test("one thread holds a lock, as often as it likes", () => {
  const [control, worker] = createLocks();
  worker.hold();
  worker.hold();
  worker.release();
  assert.equal(control.tryHold(1), false);
  worker.release();
  assert.equal(control.tryHold(1), true);
});

Deno.test("a lock is taken from a thread that still has the same hold", () => {
  const [control, worker] = createLocks();
  worker.hold();
  const { holder } = control;
  assert.equal(holder.thread, WORKER);

  assert.equal(control.takeFrom(holder), true);
  assert.equal(control.holder.thread, CONTROL);
  control.release();
  assert.equal(control.holder.thread, 0);
});

Deno.test("a lock is not taken from a thread that went on meanwhile", () => {
  const [control, worker] = createLocks();
  worker.hold();
  const { holder } = control;
  worker.release();

  assert.equal(control.takeFrom(holder), false);
  worker.hold();
  assert.equal(control.takeFrom(holder), false);
  assert.equal(control.holder.thread, WORKER);
});
