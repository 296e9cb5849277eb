import type { HttpMatch } from "../../api/rules/http_match.ts";
import type { HttpRoute } from "../../api/resources/http_route.ts";
import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import {
  loadPatterns,
  type PatternCondition,
  patternOf,
} from "../../base/pattern.ts";
import type { Hide } from "../../base/redaction.ts";
import type { Named, Report } from "../memory/report.ts";

/** Loads the engine for regular expressions when a route has one; `checkPatterns` and route tables need it. */
export async function loadPatternsOf(
  resources: Pick<ResourceSet, "httpRoutes">,
): Promise<void> {
  for (const _ of patternsOf(resources)) return await loadPatterns();
}

/** Reports invalid regular expressions in the matches of routes, attached or not. */
export function* checkPatterns(
  resources: Pick<ResourceSet, "httpRoutes">,
  { hide, report }: { readonly hide: Hide; readonly report: Report },
): Generator<void> {
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
