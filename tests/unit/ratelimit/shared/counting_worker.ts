import type { Budget } from "../../../../src/ratelimit/local/counter_store.ts";
import { takeAll } from "../../../../src/ratelimit/local/take_all.ts";
import { SharedCounterStore } from "../../../../src/ratelimit/shared/shared_counter_store.ts";
import type { CountingWork } from "./shared_threads.ts";

async function count(work: CountingWork): Promise<number | "holding"> {
  const { thread, grant, requests, keys, order, attempts, endsHolding } = work;
  const clock = { monotonic: () => grant.now, now: () => grant.now };
  const store = new SharedCounterStore({
    thread,
    acquire: () => Promise.resolve(grant),
    release: () => {},
  }, clock);
  const lease = store.lease();
  const limits = requests.map(({ identity, definition }) =>
    lease.limit(identity, definition)
  );
  await lease.ready();
  if (endsHolding) {
    limits[0]?.lock();
    return "holding";
  }
  let admitted = 0;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const budgets = order.flatMap((at): Budget[] => {
      const names = keys[at] ?? [];
      const key = names[attempt % names.length] ?? "";
      return limits[at] === undefined
        ? []
        : [limits[at].budget(key, grant.now)];
    });
    if (takeAll(budgets, grant.now) === undefined) admitted++;
  }
  return admitted;
}

addEventListener("message", async (event) => {
  if (!(event instanceof MessageEvent)) return;
  const [port] = event.ports;
  port?.postMessage(await count(event.data));
});
