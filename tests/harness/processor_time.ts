import process from "node:process";

/** Milliseconds that the processor works for `work`; unlike time on the wall they do not grow when other programs run. */
export function processorTime(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
