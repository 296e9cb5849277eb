import { createHmac } from "node:crypto";
import type {
  HttpRoute,
  HttpRouteRule,
} from "../../api/resources/http_route.ts";
import type { SessionPersistence } from "../../api/rules/session_persistence.ts";
import { optionalDuration, parseDuration } from "../../api/schema/duration.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import type {
  BackendGroup,
  GroupChoice,
  PersistentSessions,
  WeightedBackend,
} from "../../snapshot/snapshot.ts";
import type { Report } from "../memory/report.ts";
import type { Forwarding } from "../policies/compiled_rules.ts";
import { namespacedName } from "../resolve/precedence.ts";

/** A rule, and where its problems are reported. */
interface PlacedRule {
  readonly route: HttpRoute;
  readonly rule: HttpRouteRule;
  readonly path: DiagnosticPath;
  readonly report: Report;
  /** As `CompileOptions.sessionSecret`. */
  readonly sessionSecret?: string | undefined;
}

/** Compiles how requests choose among the backends of a rule, and whether a client stays with one. */
export function compileChoice(
  backends: readonly WeightedBackend[],
  placed: PlacedRule,
): Pick<Forwarding, "groups" | "replaysFailures" | "choice" | "sessions"> {
  const { route, rule: { sessionPersistence }, sessionSecret } = placed;
  return {
    ...groupBackends(backends, placed),
    ...(sessionPersistence && {
      sessions: compileSessions(route, sessionPersistence, sessionSecret),
    }),
  };
}

/** Groups several backends by priority, and compiles how requests choose among them. */
function groupBackends(
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

/**
 * Compiles the sessions of a rule. Every process with the same resources derives the same key, so that sessions go on at other
 * replicas and after restarts.
 * @param secret `config.sessionSecret`; without it, the key comes from the UID of the route, which clients do not know.
 */
export function compileSessions(
  { kind, metadata }: HttpRoute,
  { type, sessionName, absoluteTimeout, cookieConfig }: SessionPersistence,
  secret: string | undefined,
): PersistentSessions {
  const name = `${kind}/${namespacedName({ metadata })}`;
  const uid = typeof metadata.uid === "string" ? metadata.uid : "";
  const key = createHmac("sha256", secret ?? uid)
    .update(`session persistence of ${name}`).digest();
  const ownName = createHmac("sha256", "").update(name).digest("hex");
  return {
    type,
    name: sessionName ??
      (type === "Header"
        ? "x-gateway-session"
        : `gateway-session-${ownName.slice(0, 8)}`),
    lifetimeMs: optionalDuration(absoluteTimeout),
    isPermanent: cookieConfig?.lifetimeType === "Permanent",
    key,
  };
}
