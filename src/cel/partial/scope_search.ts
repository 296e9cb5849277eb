/** Limit of scopes that a search combines. */
const MAX_CANDIDATES = 12;
/** Size of the sets that are tested one after the other. */
const MAX_SIZE = 3;

/**
 * Finds a smallest set of scopes with which `holds` is true; the empty set counts. `undefined` when there is none.
 *
 * Sets of more than three scopes are found only if all candidates together hold; such a set needs each of its scopes, but there may be
 * a smaller one. Candidates after the twelfth are ignored, so that the work is bounded: `holds` runs about 300 times at most.
 */
export function findScopes(
  candidates: readonly string[],
  holds: (scopes: readonly string[]) => boolean,
): readonly string[] | undefined {
  const considered = candidates.slice(0, MAX_CANDIDATES);
  for (let size = 0; size <= Math.min(MAX_SIZE, considered.length); size++) {
    const found = combinations(considered, size).find(holds);
    if (found !== undefined) return found;
  }
  return considered.length > MAX_SIZE && holds(considered)
    ? withoutUnneeded(considered, holds)
    : undefined;
}

function combinations(
  items: readonly string[],
  size: number,
): readonly (readonly string[])[] {
  if (size === 0) return [[]];
  return items.flatMap((item, index) =>
    combinations(items.slice(index + 1), size - 1)
      .map((others) => [item, ...others])
  );
}

function withoutUnneeded(
  scopes: readonly string[],
  holds: (scopes: readonly string[]) => boolean,
): readonly string[] {
  return scopes.reduce<readonly string[]>((needed, scope) => {
    const fewer = needed.filter((each) => each !== scope);
    return holds(fewer) ? fewer : needed;
  }, scopes);
}
