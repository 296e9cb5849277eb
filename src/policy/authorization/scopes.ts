import { withSharedSteps } from "../cel/counting.ts";
import { UNKNOWN } from "../cel/evaluation_failure.ts";
import {
  findScopes,
  type ScopeClaim,
  scopeClaims,
  type ScopeCondition,
} from "../cel/scope_condition.ts";
import type { Value } from "../cel/library.ts";
import { claimsValue, claimsWith } from "../cel/values.ts";
import {
  RequestVariables,
  type VariableSource,
} from "../expressions/request_variables.ts";
import type { Claims } from "../contract/identity.ts";
import type { AuthorizationRule } from "./authorization_rule.ts";

/** Limit of granted scopes that the challenge repeats. */
const MAX_GRANTED = 64;

/** Limit of tests of rules for one challenge: 4 ms. */
const MAX_TESTS = 2000;

/** A rule that depends on the scopes of the token. */
interface ScopeRule {
  readonly rule: AuthorizationRule;
  readonly condition: ScopeCondition;
}

/** Form of a claim with scopes: `"a b"` or `["a", "b"]`. */
type ClaimForm = "text" | "list";

/** Finds the scopes that a token needs to satisfy the rules of a policy. */
export class RequiredScopes {
  readonly #rules: readonly ScopeRule[];
  readonly #passing: boolean;
  #always: readonly string[] | undefined;

  /** @param passing Result that every rule must have. */
  constructor(rules: readonly AuthorizationRule[], passing: boolean) {
    this.#passing = passing;
    this.#rules = rules.flatMap((rule) =>
      rule.scopeCondition === undefined
        ? []
        : [{ rule, condition: rule.scopeCondition }]
    );
  }

  /** Scopes that the rules demand of every request, as far as that depends on nothing else; empty when they demand none. */
  get always(): readonly string[] {
    return this.#always ??= this.#findAlways();
  }

  /**
   * Returns the scopes of a token that satisfies the rules: those it has, then those it lacks, so that a new token keeps all.
   *
   * `undefined` when more scopes would not help: a client must not request a token that is rejected again.
   * @param denying Rules that deny the request.
   * @param supported Scopes that the resource publishes; tried when the rules name none.
   */
  missing(
    context: VariableSource,
    claims: Claims,
    denying: readonly AuthorizationRule[],
    supported: readonly string[] = [],
  ): readonly string[] | undefined {
    const rules = this.#rules.filter(({ rule }) => denying.includes(rule));
    if (rules.length < denying.length) return undefined;
    return withSharedSteps(() => {
      const variables = new RequestVariables(context);
      const isHopeless = rules.some(({ condition }) =>
        condition.testWithoutScopes(variables) !== UNKNOWN
      );
      if (isHopeless) return undefined;
      const granted = grantedScopes(claims);
      const named = rules.flatMap(({ condition }) =>
        condition.namedScopes(variables)
      );
      // The denying rules first: they decide most often.
      const all = [
        ...rules,
        ...this.#rules.filter((each) => !rules.includes(each)),
      ];
      const tests = { left: MAX_TESTS };
      const find = (candidates: readonly string[]) =>
        this.#find(
          newScopes(candidates, granted),
          { context, claims, rules: all, tests },
        );
      const found = find(named) ?? find([...named, ...supported]);
      return found && [...granted, ...found];
    });
  }

  #find(
    candidates: readonly string[],
    { context, claims, rules, tests }: Search,
  ): readonly string[] | undefined {
    for (const forms of formsOf(claims, rules)) {
      const found = findScopes(candidates, (scopes) => {
        const jwt = claimsWith(claims, addScopes(claims, forms, scopes));
        const variables = new ScopedVariables(context, jwt);
        return rules.every(({ rule }) =>
          tests.left-- > 0 && rule.testAnew(variables) === this.#passing
        );
      });
      if (found !== undefined && found.length > 0) return found;
    }
    return undefined;
  }

  /** Nothing is known but the scopes: a rule demands those without which it denies every request. */
  #findAlways(): readonly string[] {
    const named = this.#rules.flatMap(({ condition }) =>
      condition.namedScopes({})
    );
    for (const forms of formsOf({}, this.#rules)) {
      const found = findScopes(newScopes(named, []), (scopes) => {
        const jwt = claimsValue(addScopes({}, forms, scopes));
        return this.#rules.every(({ condition }) => {
          const result = condition.testScopesOnly({ jwt });
          return result === UNKNOWN || result === this.#passing;
        });
      });
      if (found !== undefined) return found;
    }
    return [];
  }
}

/** A search for the scopes of a token. */
interface Search {
  readonly context: VariableSource;
  readonly claims: Claims;
  readonly rules: readonly ScopeRule[];
  /** Remaining tests of rules. */
  readonly tests: { left: number };
}

/** Variables of a request with another token. */
class ScopedVariables extends RequestVariables {
  readonly #jwt: Value;

  constructor(context: VariableSource, jwt: Value) {
    super(context);
    this.#jwt = jwt;
  }

  override get jwt(): Value {
    return this.#jwt;
  }
}

type ClaimForms = ReadonlyMap<ScopeClaim, ClaimForm>;

/** Returns the forms that the claims of a new token may have: those of the present one, else what is usual, then the opposite. */
function formsOf(
  claims: Claims,
  rules: readonly ScopeRule[],
): readonly ClaimForms[] {
  const present = scopeClaims.flatMap((name): [ScopeClaim, ClaimForm][] => {
    const claim = claims[name];
    if (typeof claim === "string") return [[name, "text"]];
    return Array.isArray(claim) ? [[name, "list"]] : [];
  });
  if (present.length > 0) return [new Map(present)];
  const read = new Set(rules.flatMap(({ condition }) => condition.claims));
  const all = (text: ClaimForm, list: ClaimForm) =>
    new Map([...read].map((name) => [name, name === "scope" ? text : list]));
  return [all("text", "list"), all("list", "text")];
}

/** Returns the claims that change when the token gets more scopes. */
function addScopes(
  claims: Claims,
  forms: ClaimForms,
  scopes: readonly string[],
): Record<string, unknown> {
  if (scopes.length === 0) return {};
  return Object.fromEntries(
    [...forms].map(([name, form]) => {
      const list = [...scopesIn(claims[name]), ...scopes];
      return [name, form === "text" ? list.join(" ") : list];
    }),
  );
}

function newScopes(
  candidates: readonly string[],
  granted: readonly string[],
): readonly string[] {
  return [...new Set(candidates)].filter((scope) =>
    isScope(scope) && !granted.includes(scope)
  );
}

function grantedScopes(claims: Claims): readonly string[] {
  const granted = scopeClaims.flatMap((name) => scopesIn(claims[name]));
  return [...new Set(granted.filter(isScope))].slice(0, MAX_GRANTED);
}

function scopesIn(claim: unknown): readonly unknown[] {
  if (typeof claim === "string") return claim.split(" ");
  return Array.isArray(claim) ? claim : [];
}

/** A scope token of RFC 6749 section 3.3, of reasonable length. */
function isScope(value: unknown): value is string {
  return typeof value === "string" &&
    /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/.test(value);
}
