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
  worker.lock();
  worker.lock();
  worker.unlock();
  assert.equal(control.tryLock(1), false);
  worker.unlock();
  assert.equal(control.tryLock(1), true);
});

Deno.test("a lock is taken from a thread that still has the same acquisition", () => {
  const [control, worker] = createLocks();
  worker.lock();
  const { owner } = control;
  assert.equal(owner.thread, WORKER);

  assert.equal(control.takeFrom(owner), true);
  assert.equal(control.owner.thread, CONTROL);
  control.unlock();
  assert.equal(control.owner.thread, 0);
});

Deno.test("a lock is not taken from a thread that went on meanwhile", () => {
  const [control, worker] = createLocks();
  worker.lock();
  const { owner } = control;
  worker.unlock();

  assert.equal(control.takeFrom(owner), false);
  worker.lock();
  assert.equal(control.takeFrom(owner), false);
  assert.equal(control.owner.thread, WORKER);
});
