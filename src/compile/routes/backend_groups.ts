import type {
  HttpRoute,
  HttpRouteRule,
} from "../../api/resources/http_route.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type {
  BackendGroup,
  GroupChoice,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import type { Report } from "../memory/report.ts";
import type { Forwarding } from "../policies/compiled_rules.ts";

/** A rule, and where its problems are reported. */
interface PlacedRule {
  readonly route: HttpRoute;
  readonly rule: HttpRouteRule;
  readonly path: DiagnosticPath;
  readonly report: Report;
}

/** Groups several backends by priority, and compiles how requests choose among them. */
export function groupBackends(
  backends: readonly WeightedBackend[],
  placed: PlacedRule,
): Pick<Forwarding, "groups" | "replaysFailures" | "choice"> {
  if (backends.length < 2) {
    warnWithoutGroup(placed);
    return { groups: undefined, replaysFailures: false };
  }
  const byPriority = Map.groupBy(backends, ({ priority }) => priority);
  const groups = [...byPriority].toSorted(([a], [b]) => a - b)
    .map(([, backends]): BackendGroup => ({ backends }));
  const isLlm = backends.every(({ backend }) => backend?.llm !== undefined);
  const replaysFailures = groups.length > 1 || isLlm;
  assertLlm(backends, placed);
  return { groups, replaysFailures, choice: choiceOf(placed.rule, isLlm) };
}

function choiceOf(
  { loadBalancing, failover, hedging }: HttpRouteRule,
  isLlm: boolean,
): GroupChoice {
  return {
    policy: loadBalancing?.policy ?? "Weighted",
    isLlm,
    leavesFilters: failover?.on?.includes("ContentFilter") === true,
    hedgeMs: hedging && parseDuration(hedging.delay),
  };
}

const groupFields = ["loadBalancing", "failover", "hedging"] as const;

function warnWithoutGroup({ route, rule, path, report }: PlacedRule): void {
  for (const field of groupFields) {
    if (rule[field] === undefined) continue;
    const message = `"${field}" has no effect: it needs at least two backends`;
    report.warning(route, { path: [...path, field], message });
  }
}

/** Reports backends without prices, rate limits or answers. */
function assertLlm(
  backends: readonly WeightedBackend[],
  { route, rule: { loadBalancing, failover }, path, report }: PlacedRule,
): void {
  const other = backends.find(({ backend }) =>
    backend !== undefined && backend.llm === undefined
  );
  if (other?.backend === undefined) return;
  const { name } = other.backend;
  const { policy } = loadBalancing ?? {};
  if (policy === "LowestCost" || policy === "MostQuota") {
    const message =
      `"${policy}" needs LLM providers: backend "${name}" has no "llm"`;
    const problem = { path: [...path, "loadBalancing", "policy"], message };
    report.error(route, problem);
  }
  if (failover?.on?.includes("ContentFilter") === true) {
    const message =
      `"ContentFilter" needs LLM providers: backend "${name}" has no "llm"`;
    report.error(route, { path: [...path, "failover", "on"], message });
  }
}
