/** Returns the candidate that `word` most likely misspells, if any is close enough. */
export function nearest(
  word: string,
  candidates: readonly string[],
): string | undefined {
  const limit = Math.max(1, Math.floor(Math.min(word.length, 24) * 0.4));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  best ??= uniqueCompletion(word, candidates) ??
    candidates.find((candidate) =>
      isPart(word, candidate) || isPart(candidate, word)
    );
  return best === word ? undefined : best;
}

/** Suggests like `nearest`; lists the candidates only when needed. */
export type Suggest = (
  word: string,
  listCandidates: () => readonly string[],
) => string | undefined;

/** Comparison budget; uses about half a second. */
const MAX_COMPARISONS = 200_000;

/**
 * Creates a `Suggest` that stops after `MAX_COMPARISONS`: thousands of unresolved references usually have one cause, and comparing
 * all names would take minutes.
 */
export function createSuggest(): Suggest {
  let comparisons = 0;
  return (word, listCandidates) => {
    if (comparisons >= MAX_COMPARISONS) return undefined;
    const candidates = listCandidates();
    comparisons += candidates.length;
    return nearest(word, candidates);
  };
}

/** Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbors that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 24 || a.length > 256) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      }
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

/** Returns the only candidate that begins with `word`: `jwtAuthentication` for `jwt`, `policies` for `policy`. */
function uniqueCompletion(
  word: string,
  candidates: readonly string[],
): string | undefined {
  const stem = word.toLowerCase().replace(/y$/, "");
  if (stem.length < 3) return undefined;
  const found = candidates.filter((candidate) =>
    candidate.toLowerCase().startsWith(stem)
  );
  return found.length === 1 ? found[0] : undefined;
}

function isPart(part: string, whole: string): boolean {
  return part.length >= 4 && whole.toLowerCase().includes(part.toLowerCase());
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
