import type { Clock } from "../../../src/base/clock.ts";
import { json } from "../../http/admin_responses.ts";
import {
  describeProcessMemory,
  type MemoryReport,
} from "../../target/process_memory.ts";
import type { AdminTarget } from "../../target/target.ts";

/** Reports the memory. */
export async function showMemory(
  target: AdminTarget,
  clock: Clock,
): Promise<Response> {
  const { dataPlane } = target;
  const [stores, workers] = await Promise.all([
    dataPlane.call("stores"),
    dataPlane.call("heaps"),
  ]);
  const { process, heap, heapSpaces } = describeProcessMemory();
  const report: MemoryReport = {
    takenAt: new Date(clock.now()).toISOString(),
    process,
    heap,
    workers,
    heapSpaces,
    ...(Deno.build.os === "linux" && target.systemMemory()),
    stores: [...stores, ...target.stores()],
  };
  return json(report);
}
