/** A value that exists in only one of two snapshots. */
export interface Difference {
  readonly kind: "removed" | "added";
  /** Path such as `request.headers.x-team`. */
  readonly path: string;
  /** JSON. */
  readonly value: string;
}

/** Returns the changes between two snapshots in the order of the later one, followed by removals. */
export function diffSnapshots(
  before: unknown,
  after: unknown,
): readonly Difference[] {
  const old = flatten(before);
  const now = flatten(after);
  const differences: Difference[] = [];
  for (const [path, value] of now) {
    const earlier = old.get(path);
    if (earlier === value) continue;
    if (earlier !== undefined) {
      differences.push({ kind: "removed", path, value: earlier });
    }
    differences.push({ kind: "added", path, value });
  }
  for (const [path, value] of old) {
    if (!now.has(path)) differences.push({ kind: "removed", path, value });
  }
  return differences;
}

/** Maps the path of each leaf to its JSON. */
function flatten(
  value: unknown,
  path = "",
  leaves = new Map<string, string>(),
): ReadonlyMap<string, string> {
  const isBranch = typeof value === "object" && value !== null;
  const entries = isBranch ? Object.entries(value) : [];
  if (entries.length === 0) leaves.set(path, JSON.stringify(value) ?? "");
  for (const [name, child] of entries) {
    flatten(child, path === "" ? name : `${path}.${name}`, leaves);
  }
  return leaves;
}
