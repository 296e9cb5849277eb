import { isPerCaller } from "../../identity/backend_tokens/backend_credentials.ts";
import type { HttpMatch } from "../../api/rules/http_match.ts";
import { jwtClaims } from "../../policy/authentication/request_identity.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { Report } from "../memory/report.ts";
import type {
  CompiledListener,
  EffectivePolicy,
  Rule,
  ServedRule,
} from "../policies/compiled_rules.ts";

/** Warns about rules that are valid and probably unintended. */
export function* checkRules(
  listeners: readonly CompiledListener[],
  report: Report,
): Generator<void> {
  for (const listener of listeners) {
    for (const served of listener.rules) {
      const { route, index } = served.rule;
      for (const message of problemsOf(listener, served)) {
        report.warning(route, { path: ["spec", "rules", index], message });
      }
    }
    yield;
  }
  yield* reportUnreachableMatches(listeners, report);
}

function* problemsOf(
  { listener, effective }: CompiledListener,
  served: ServedRule,
): Generator<string> {
  const unforwarded = withoutBackend(served);
  if (unforwarded !== undefined) yield unforwarded;
  const { policies, backends } = served.route;
  const all = [...listener.policies, ...policies];
  const isGuarded = [...effective, ...served.effective].some(isGuard);
  const knowsUser = all.some(({ kind }) => kind.identity === jwtClaims);
  // Policies that take the credentials of the client leave none for the provider.
  const takesCredentials = all.some(({ kind }) => kind.identity !== undefined);
  for (const { backend } of backends) {
    if (backend === undefined) continue;
    if (backend.webUi && !isGuarded) {
      yield `Everybody who reaches gateway "${listener.gateway}" can use the web UI, which shows configuration and requests; add a policy such as "basicAuthentication"`;
    }
    if (!knowsUser && seesCaller(backend)) {
      yield `Backend "${backend.key}" gets tokens of the caller, whom no policy verifies; add "jwtAuthentication"`;
    }
    if (takesCredentials && lacksCredentials(backend)) {
      yield `Backend "${backend.key}" has no credentials: ${backend.llm?.name} rejects requests without a key; add "credentials"`;
    }
  }
}

/** Returns what is wrong with a rule that neither responds itself nor has a backend. */
function withoutBackend(
  { rule: { forwarding }, effective }: ServedRule,
): string | undefined {
  const responds = effective.some(({ kind }) => kind.respondsAlways);
  if (responds || forwarding.totalWeight > 0) return undefined;
  const cause = forwarding.backends.length === 0
    ? "the route has no backends"
    : "no backend has a weight above 0";
  return `Cannot forward requests: ${cause}, so they get 500`;
}

/** Reports whether the policy rejects callers who show no credential. */
function isGuard({ kind, layers }: EffectivePolicy): boolean {
  const [first] = layers;
  return first !== undefined && kind.isRequired(first.traffic);
}

/** Servers at an address of the configuration may need none. */
function lacksCredentials({ llm, credentials, host }: Backend): boolean {
  return llm !== undefined && llm.authorization === undefined &&
    credentials === undefined && llm.provider.host?.(llm.place) === host;
}

function seesCaller({ credentials, mcp }: Backend): boolean {
  const servers = mcp?.servers ?? [];
  return isPerCaller(credentials) ||
    servers.some(({ transport }) =>
      transport.kind !== "stdio" && isPerCaller(transport.backend.credentials)
    );
}

/** Warns of matches that no request reaches at any listener, because another rule takes precedence. */
function* reportUnreachableMatches(
  listeners: readonly CompiledListener[],
  report: Report,
): Generator<void> {
  const winners = new Map<Rule, Map<number, Winner | undefined>>();
  for (const { rules } of listeners) {
    const uses: Use[] = [];
    for (const rule of rules) {
      uses.push(...usesByRule.getOrInsertComputed(rule, usesOf));
      yield;
    }
    const first = new Map<string, Rule>();
    for (const { key, rule } of uses) {
      if (!first.has(key)) first.set(key, rule);
    }
    for (const use of uses) {
      const { rule, index } = use;
      const winner = winnerOver(use, first);
      const ofRule = winners.getOrInsertComputed(rule, () => new Map());
      // A match that some listener or hostname reaches is not reported.
      if (winner === undefined || !ofRule.has(index)) ofRule.set(index, winner);
      yield;
    }
  }
  for (const [{ route, index }, matches] of winners) {
    for (const [match, winner] of matches) {
      if (winner === undefined) continue;
      const path = ["spec", "rules", index, "matches", match];
      report.warning(route, { path, message: explain(winner) });
    }
  }
}

/** Matches by rule: most rules stay the same when a route changes. */
const usesByRule = new WeakMap<ServedRule, readonly Use[]>();

/** A match of a rule for one of its hostnames. */
interface Use {
  readonly rule: Rule;
  /** Index in `matches` of the rule. */
  readonly index: number;
  readonly match: HttpMatch;
  readonly hostname: string;
  readonly conditions: string;
  /** The same for matches that select the same requests. */
  readonly key: string;
}

/** The rule that takes precedence over a match. */
interface Winner {
  readonly rule: Rule;
  /** Set when it wins because prefixes come before expressions. */
  readonly prefix?: string;
}

function usesOf({ rule, hostnames }: ServedRule): Use[] {
  return (hostnames.length > 0 ? hostnames : ["*"]).flatMap((hostname) =>
    rule.spec.matches.map((match, index) => {
      const conditions = restOf(match);
      const { type, value } = match.path;
      const key = type === "PathPrefix"
        ? prefixKey(hostname, value.replace(/\/$/, ""), conditions)
        : `${hostname} ${type} ${value} ${conditions}`;
      return { rule, index, match, hostname, conditions, key };
    })
  );
}

function prefixKey(
  hostname: string,
  prefix: string,
  conditions: string,
): string {
  return `${hostname} PathPrefix ${prefix} ${conditions}`;
}

function restOf({ method, headers, queryParams }: HttpMatch): string {
  return method === undefined && !headers?.length && !queryParams?.length
    ? ""
    : JSON.stringify([method, headers ?? [], queryParams ?? []]);
}

function winnerOver(
  { rule, key, match, hostname, conditions }: Use,
  first: ReadonlyMap<string, Rule>,
): Winner | undefined {
  const equal = first.get(key);
  if (equal !== undefined && equal !== rule) return { rule: equal };
  if (match.path.type !== "RegularExpression") return undefined;
  for (const prefix of prefixesOf(match.path.value)) {
    const found = first.get(prefixKey(hostname, prefix, "")) ??
      first.get(prefixKey(hostname, prefix, conditions));
    if (found !== undefined && found !== rule) {
      return { rule: found, prefix: prefix || "/" };
    }
  }
  return undefined;
}

/** Returns the prefixes that every path of an expression has, without a slash at the end; `""` stands for `/`. */
function prefixesOf(expression: string): readonly string[] {
  const source = expression.replace(/^\^/, "");
  const [literal = ""] = /^(?:[\w/~%:@,;=&!'-]|\\\W)*/.exec(source) ?? [];
  const rest = source.slice(literal.length);
  const hasAlternatives = source.replace(/\\.|\[[^\]]*\]|\([^()]*\)/g, "")
    .includes("|");
  if (hasAlternatives) return [""];
  const text = literal.replace(/\\(\W)/g, "$1");
  const certain = /^[?*{]/.test(rest) ? text.slice(0, -1) : text;
  const ends = [...certain.matchAll(/\//g)].map(({ index }) => index);
  if (rest === "" || rest === "$") ends.push(certain.length);
  return [
    "",
    ...ends.filter((end) => end > 0).map((end) => certain.slice(0, end)),
  ];
}

function explain({ rule: { route }, prefix }: Winner): string {
  const { name } = route.metadata;
  return prefix === undefined
    ? `No request reaches this match: route "${name}" has the same one and takes precedence`
    : `No request reaches this expression: prefix "${prefix}" of route "${name}" matches the same paths, and prefixes take precedence; make the prefix longer or an expression`;
}
