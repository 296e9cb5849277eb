/** A leaf that differs between two states; `undefined` in the one that does not have it. */
export interface Change {
  /** Path such as `request.headers.x-team`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Returns the changes between two states in the order of the later one, followed by removals. */
export function diffStates(before: unknown, after: unknown): readonly Change[] {
  const [old, now] = [leavesOf(before), leavesOf(after)];
  const paths = new Set([...now.keys(), ...old.keys()]);
  return [...paths].map((path) => ({
    path,
    before: old.get(path),
    after: now.get(path),
  })).filter(({ before, after }) =>
    JSON.stringify(before) !== JSON.stringify(after)
  );
}

/** Formats a change as lines: the JSON of the value that was removed, and of the one that was added. */
export function linesOf(
  { path, before, after }: Change,
  format: (json: string) => string = (json) => json,
): readonly { readonly kind: "removed" | "added"; readonly text: string }[] {
  const line = (kind: "removed" | "added", sign: string, value: unknown) =>
    value === undefined
      ? []
      : [{ kind, text: `${sign} ${path}: ${format(JSON.stringify(value))}` }];
  return [...line("removed", "-", before), ...line("added", "+", after)];
}

/** Maps the path of each leaf to its value, which is a primitive or empty. */
function leavesOf(
  value: unknown,
  path = "",
  leaves = new Map<string, unknown>(),
): ReadonlyMap<string, unknown> {
  const isBranch = typeof value === "object" && value !== null;
  const entries = isBranch ? Object.entries(value) : [];
  if (entries.length === 0) leaves.set(path, value);
  for (const [name, child] of entries) {
    leavesOf(child, path === "" ? name : `${path}.${name}`, leaves);
  }
  return leaves;
}
