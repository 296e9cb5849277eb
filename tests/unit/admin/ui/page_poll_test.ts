import assert from "node:assert/strict";

/** Not checked with this file: its types are those of a browser. */
const module = "../../../../admin/ui/page/server/poll.ts";

Deno.test("a poll leaves nothing behind in its signal, however often it repeats", async () => {
  const { repeat } = await import(module);
  Object.assign(globalThis, { document: { hidden: false } });
  const leaving = new AbortController();
  const { signal } = leaving;
  let listeners = 0;
  let most = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    most = Math.max(most, ++listeners);
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (
    ...args: Parameters<typeof removeEventListener>
  ) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };

  let calls = 0;
  await repeat(0, signal, () => {
    if (++calls === 10) leaving.abort();
    return Promise.resolve();
  });

  assert.equal(calls, 10);
  assert.equal(most, 1);
});
