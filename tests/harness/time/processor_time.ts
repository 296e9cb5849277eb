import process from "node:process";

/** Returns the CPU milliseconds of `work`, which unlike wall time do not depend on other programs. */
export function processorTime(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
