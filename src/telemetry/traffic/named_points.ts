import { createPoint, mergePoint, type TrafficPoint } from "./traffic_point.ts";

/** Sums by name, such as that of a route: those of the names with the most requests, and one of all others. */
export interface NamedPoints {
  readonly named: Map<string, TrafficPoint>;
  readonly other: TrafficPoint;
}

/** Names that have sums of their own. */
export const MAX_NAMES = 32;

/** Creates an empty table. */
export function createNamedPoints(): NamedPoints {
  return { named: new Map(), other: createPoint() };
}

/**
 * Returns the sums of a name. When the table is full, a new name replaces the one with the fewest requests: names that
 * come once replace each other, not those that come often.
 */
export function pointOf(
  { named, other }: NamedPoints,
  name: string,
): TrafficPoint {
  const known = named.get(name);
  if (known !== undefined) return known;
  if (named.size >= MAX_NAMES) {
    const [least, point] = leastOf(named);
    mergePoint(other, point);
    named.delete(least);
  }
  const point = createPoint();
  named.set(name, point);
  return point;
}

/** Adds another table; of the names for which there is no room, those with the fewest requests. */
export function mergeNamedPoints(into: NamedPoints, from: NamedPoints): void {
  const { named, other } = into;
  mergePoint(other, from.other);
  for (const [name, point] of from.named) {
    const fits = named.has(name) || named.size < MAX_NAMES ||
      leastOf(named)[1].requests < point.requests;
    mergePoint(fits ? pointOf(into, name) : other, point);
  }
}

/** Returns the name with the fewest requests; of several, the oldest. */
function leastOf(
  named: ReadonlyMap<string, TrafficPoint>,
): readonly [name: string, point: TrafficPoint] {
  let least = "";
  let fewest: TrafficPoint | undefined;
  for (const [name, point] of named) {
    if (fewest !== undefined && point.requests >= fewest.requests) continue;
    fewest = point;
    least = name;
    if (point.requests === 1) break;
  }
  return [least, fewest ?? createPoint()];
}
