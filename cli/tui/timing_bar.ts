/** Draws a span of time on a line of `width` columns that stands for `total`: `·` if it took no time. */
export function timingBar(
  { start, end, total }: {
    readonly start: number | null;
    readonly end: number | null;
    readonly total: number | null;
  },
  width: number,
): string {
  if (end === null || total === null || total <= 0 || width < 1) {
    return " ".repeat(Math.max(width, 0));
  }
  const scale = width / total;
  const first = Math.min(Math.floor((start ?? end) * scale), width - 1);
  const last = Math.min(Math.max(Math.ceil(end * scale), first + 1), width);
  const bar = start === null ? "·" : "━".repeat(last - first);
  return (" ".repeat(first) + bar).padEnd(width);
}
