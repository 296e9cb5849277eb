import type { HttpMatch } from "../../api/rules/http_match.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { loadPatterns } from "../../base/pattern.ts";
import { type PatternCondition, patternOf } from "../../route/route_match.ts";
import { createHiding } from "../../api/redact_configuration.ts";
import type { Named, Report } from "../memory/report.ts";
import type {
  CompiledListener,
  Rule,
  ServedRule,
} from "../policies/effective_policy.ts";

/** Loads the engine for regular expressions when a route has one; `checkPatterns` and route tables need it. */
export async function loadPatternsOf(
  resources: Pick<ResourceSet, "httpRoutes">,
): Promise<void> {
  for (const _ of patternsOf(resources)) return await loadPatterns();
}

/** Reports invalid regular expressions in the matches of routes, attached or not. */
export function* checkPatterns(
  resources: ResourceSet,
  report: Report,
): Generator<void> {
  const hide = createHiding(resources.environment);
  for (const { route, path, condition } of patternsOf(resources)) {
    yield;
    const { problem } = patternOf(condition);
    if (problem === undefined) continue;
    const message = hide(`invalid regular expression: ${problem}`);
    report.error(route, { path: [...path, "value"], message });
  }
}

interface PlacedPattern {
  readonly route: Named;
  readonly path: DiagnosticPath;
  readonly condition: PatternCondition;
}

function* patternsOf(
  { httpRoutes }: Pick<ResourceSet, "httpRoutes">,
): Generator<PlacedPattern> {
  for (const route of httpRoutes) {
    yield* known.getOrInsertComputed(route, findPatterns);
  }
}

/** The patterns of each route, which are looked for once. */
const known = new WeakMap<HttpRoute, readonly PlacedPattern[]>();

function findPatterns(route: HttpRoute): PlacedPattern[] {
  const found: PlacedPattern[] = [];
  for (const [index, { matches }] of route.spec.rules.entries()) {
    for (const [number, match] of matches.entries()) {
      const path = ["spec", "rules", index, "matches", number];
      for (const { condition, at } of conditionsOf(match)) {
        if (condition.type !== "RegularExpression") continue;
        found.push({ route, path: [...path, ...at], condition });
      }
    }
  }
  return found;
}

function* conditionsOf({ path, headers = [], queryParams = [] }: HttpMatch) {
  yield { condition: path, at: ["path"] };
  for (const [index, header] of headers.entries()) {
    yield { condition: header, at: ["headers", index] };
  }
  for (const [index, param] of queryParams.entries()) {
    yield { condition: param, at: ["queryParams", index] };
  }
}

/** Warns of matches that no request reaches at any listener, because another rule takes precedence. */
export function* reportUnreachableMatches(
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
