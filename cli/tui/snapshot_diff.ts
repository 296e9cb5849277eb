/** A value that only one of two snapshots has. */
export interface Difference {
  readonly kind: "removed" | "added";
  /** Such as `request.headers.x-team`. */
  readonly path: string;
  /** As JSON. */
  readonly value: string;
}

/** What changed from one snapshot to the next, in the order of the later one, removals after it. */
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

/** Every leaf as JSON, by its path. */
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
