/** Lines between visible rows. */
import { type Chain, columns } from "./route_model.ts";

/** A place on the screen. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * Returns the paths of SVG lines that join the visible rows of chains, by their ends. Only chains of visible rows are looked at,
 * so the work does not grow with the number of routes.
 */
export function drawChains(
  chains: Iterable<Chain>,
  rows: ReadonlyMap<string, Box>,
  origin: Pick<Box, "left" | "top">,
): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const chain of chains) {
    for (const [from, to] of stepsOf(chain)) {
      const key = `${from}\n${to}`;
      const [a, b] = [rows.get(from), rows.get(to)];
      if (a === undefined || b === undefined || lines.has(key)) continue;
      lines.set(key, curve(a, b, origin));
    }
  }
  return lines;
}

/** Returns pairs of neighbors; skips empty columns. */
function stepsOf(chain: Chain): [string, string][] {
  const steps = columns.map(({ name }) => chain[name]).filter((ids) =>
    ids.length > 0
  );
  return steps.slice(1).flatMap((ids, index) =>
    (steps[index] ?? []).flatMap((from) =>
      ids.map((to): [string, string] => [from, to])
    )
  );
}

function curve(from: Box, to: Box, origin: Pick<Box, "left" | "top">): string {
  const [x1, y1] = [from.right - origin.left, middle(from) - origin.top];
  const [x2, y2] = [to.left - origin.left, middle(to) - origin.top];
  const half = (x1 + x2) / 2;
  return `M${x1},${y1} C${half},${y1} ${half},${y2} ${x2},${y2}`;
}

function middle({ top, bottom }: Box): number {
  return (top + bottom) / 2;
}
