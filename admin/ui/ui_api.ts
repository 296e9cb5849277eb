import { dumpConfig } from "../endpoints/config_dump.ts";
import { listFailures, showFailure } from "../endpoints/failures.ts";
import { changeLogFilter, showLogFilter } from "../endpoints/logging.ts";
import { json, respond, text } from "../respond.ts";
import { chooseBudgets } from "./choose_budgets.ts";
import type { Endpoint, Handler } from "../router.ts";
import type { AdminTarget } from "../target.ts";
import { traceRequests } from "../endpoints/trace.ts";
import type { UiOptions } from "./ui.ts";

/** What the page asks for: the endpoints of the admin server that it needs, and no others. */
export function uiApi(options: UiOptions): readonly Endpoint[] {
  const { target, clock, readOnly, profiles } = options;
  const { dataPlane } = target;
  return [
    get(
      "status",
      "What the page needs to know at any time",
      () => json(describeStatus(options)),
    ),
    get("config", "As `/config_dump`", () => dumpConfig(target)),
    get(
      "metrics",
      "Of `/metrics`, those that are named with `name`",
      async (request) =>
        respond(
          200,
          "text/plain; charset=utf-8",
          await dataPlane.collectMetrics(readNames(request)),
        ),
    ),
    get(
      "budgets",
      "`budgets` of `/config_dump`, at most `limit` of those in which `find` occurs",
      async (request) =>
        json(
          chooseBudgets((await dataPlane.describeState()).budgets, request),
        ),
    ),
    get(
      "keys",
      "`keySets` and `providerMetadata` of `/config_dump`",
      async () => {
        const { keySets, providerMetadata } = await dataPlane.describeState();
        return json({ keySets, providerMetadata });
      },
    ),
    get(
      "failures",
      "As `/debug/requests`",
      (request) => listFailures(target, request),
    ),
    get(
      "failures/*",
      "As `/debug/requests/*`",
      (request) => showFailure(target, request),
    ),
    {
      ...get(
        "trace",
        "As `/debug/trace`",
        (request) => traceRequests(target, clock, request),
      ),
      isStream: true,
    },
    logging(target, readOnly),
    ...Object.entries(profiles ?? {}).map(([name, handler]) => ({
      ...get(`profiles/${name}`, "As `/debug/pprof/…`", handler),
      isStream: true,
    })),
  ];
}

function readNames({ url }: Request): ReadonlySet<string> | undefined {
  const names = new URL(url).searchParams.getAll("name");
  return names.length === 0 ? undefined : new Set(names);
}

function get(path: string, purpose: string, handler: Handler): Endpoint {
  return { path: `/ui/api/${path}`, purpose, methods: { GET: handler } };
}

function describeStatus(
  { target, server, readOnly, profiles }: UiOptions,
) {
  const { hash, appliedAt, lastRejected } = target.status();
  return {
    version: target.version,
    readiness: target.readiness(),
    hash,
    appliedAt,
    lastRejected: lastRejected ?? null,
    server,
    readOnly,
    profiles: Object.keys(profiles ?? {}),
  };
}

function logging(target: AdminTarget, readOnly: boolean): Endpoint {
  const endpoint = get(
    "logging",
    "As `/logging`",
    (request) => showLogFilter(target, request),
  );
  if (readOnly) return endpoint;
  const change: Handler = (request) =>
    isFromPage(request)
      ? changeLogFilter(target, request)
      : text(403, "forbidden: requests from other sites are refused");
  return { ...endpoint, methods: { ...endpoint.methods, POST: change } };
}

/** A browser adds credentials of its own to what another site makes it send; it says which site that is. */
function isFromPage({ headers, url }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null) return site === "same-origin";
  const origin = headers.get("origin");
  // Behind a proxy that speaks TLS, the scheme is not ours.
  return origin !== null && URL.parse(origin)?.host === new URL(url).host;
}
