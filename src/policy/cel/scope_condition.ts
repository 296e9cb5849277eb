import { type Ast, stringsOf } from "./library.ts";
import { pathOf, visitFields, visitParts } from "./paths.ts";
import { type PartialResult, planPartially, planValue } from "./plan.ts";
import type { Variables } from "./variables.ts";

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

/** Claims that hold OAuth scopes: RFC 8693 section 4.2, and what providers call it. */
export const scopeClaims = ["scope", "scp", "scopes"] as const;

/** Name of a claim that holds scopes. */
export type ScopeClaim = typeof scopeClaims[number];

/** Limit of scopes in one string or list. */
const MAX_NAMED = 16;

/** A condition that depends on the scopes of the token. */
export class ScopeCondition {
  /** The claims with scopes that it reads. */
  readonly claims: readonly ScopeClaim[];
  /** Tests the condition with scopes that are not known: `UNKNOWN` when it depends on them. */
  readonly testWithoutScopes: (variables: Variables) => PartialResult;
  /** Tests the condition when nothing but the scopes is known. */
  readonly testScopesOnly: (variables: Variables) => PartialResult;
  readonly #named: readonly ((variables: Variables) => unknown)[];

  constructor(ast: Ast, claims: readonly ScopeClaim[]) {
    this.claims = claims;
    this.testWithoutScopes = planPartially(
      ast,
      (path) => claimsAt(path).length > 0,
    );
    this.testScopesOnly = planPartially(
      ast,
      (path) => path.length < 2 || claimsAt(path).length === 0,
    );
    this.#named = namesOf(ast).map((part) => planValue(part));
  }

  /** Returns the scopes that the condition names, such as `a` in `'a' in jwt.scp`. */
  namedScopes(variables: Variables): readonly string[] {
    const texts = this.#named.flatMap((evaluate) =>
      stringsOf(evaluate(variables)).slice(0, MAX_NAMED)
    );
    return [...new Set(texts.flatMap((text) => text.split(" ", MAX_NAMED)))];
  }
}

/** Creates the condition of an expression; `undefined` when it reads no scopes. */
export function scopeConditionOf(ast: Ast): ScopeCondition | undefined {
  const read = new Set<ScopeClaim>();
  visitFields(ast, (_, path) => {
    for (const claim of claimsAt(path)) read.add(claim);
  });
  const claims = scopeClaims.filter((claim) => read.has(claim));
  return claims.length === 0 ? undefined : new ScopeCondition(ast, claims);
}

/** Returns the claims that a chain of fields reads: all of them for `jwt`. */
function claimsAt([variable, claim]: readonly string[]): readonly ScopeClaim[] {
  if (variable !== "jwt") return [];
  if (claim === undefined) return scopeClaims;
  return scopeClaims.filter((name) => name === claim);
}

const logic: ReadonlySet<string> = new Set(["_&&_", "_||_", "!_", "_?_:_"]);
const comparisons: ReadonlySet<string> = new Set([
  "@in",
  "_==_",
  "_!=_",
  "contains",
]);

/**
 * Finds the parts that are compared with scopes: in `jwt.sub == 'x' && jwt.scope.split(' ').exists(s, s == 'a:' + mcp.tool.name)` it is
 * `'a:' + mcp.tool.name`. Separators, prefixes and patterns are no scopes.
 */
function namesOf(ast: Ast): readonly Ast[] {
  const names: Ast[] = [];
  visitParts(ast, new Set(), (part, local) => {
    const { exprKind: kind } = part;
    const isLogic = kind.case === "callExpr" && logic.has(kind.value.function);
    // Inside of a macro, its names may stand for scopes.
    if (isLogic || !isOpen(part, local) && local.size === 0) return isLogic;
    for (const operand of operandsOf(part)) {
      if (!isOpen(operand, local)) names.push(operand);
    }
    return true;
  });
  return names;
}

/** Returns the parts that a part may compare with scopes. */
function operandsOf({ exprKind: kind }: Ast): readonly Ast[] {
  switch (kind.case) {
    case "callExpr": {
      const { function: name, args } = kind.value;
      return comparisons.has(name) ? args : [];
    }
    case "listExpr":
      return kind.value.elements;
    case "comprehensionExpr":
      return kind.value.iterRange === undefined ? [] : [kind.value.iterRange];
    default:
      return [];
  }
}

/** Reports whether a part depends on scopes, or on names that macros around it introduce. */
function isOpen(part: Ast, local: ReadonlySet<string>): boolean {
  let found = false;
  visitParts(part, local, (inner, names) => {
    const path = pathOf(inner);
    if (path === undefined) return !found;
    found ||= names.has(path[0])
      ? local.has(path[0])
      : claimsAt(path).length > 0;
    return false;
  });
  return found;
}
