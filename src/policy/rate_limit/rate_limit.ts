import { defineCombinedPolicy } from "../contract/define_policy.ts";
import { splitHostPort } from "../../base/wire/host_port.ts";
import type { PolicyProblem, References } from "../contract/policy_kind.ts";
import { type RateLimit, rateLimitSchema } from "./rate_limit_schema.ts";
import {
  errorOf,
  type Explanation,
  namedPart,
} from "../../telemetry/failures/explanation.ts";
import type { RecordedRequest } from "../../telemetry/failures/recorded_request.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";
import type { RateLimitEntry } from "../../telemetry/trace/trace_event.ts";

/** Rate limits of gateway and route, as one policy. */
export const rateLimit = defineCombinedPolicy(
  "rateLimit",
  {
    description:
      "Budgets of requests or LLM tokens; those of gateway and route all apply.",
    schema: rateLimitSchema,
    phases: ["route", "gateway"],
    access: "open",
    trace: {
      event: undefined,
      // Only a rate limit service changes requests.
      stage: (side, reported) =>
        side === "request" || !reported.has("local")
          ? "remote rate limit"
          : "local rate limit",
      selection: {
        localRateLimit: ({ local }) => local,
        remoteRateLimit: ({ global }) => global,
      },
    },
    rejections: { rate_limit: { explain: explainLimit } },
    checkReferences: checkGlobalStore,
  },
  loadCode,
);

/** Expressions take a fifth of the start and 10 MB: only configurations that have them load them. */
async function loadCode() {
  return (await import("./rate_limit_policy.ts")).code;
}

/** Finds global limits without a store or service: their policies would reject every request. */
function checkGlobalStore(
  { global }: RateLimit,
  references: References,
): readonly PolicyProblem[] {
  const path = ["global", "store"];
  const store = global?.store;
  if (store === undefined) return [];
  if (store === "KV") {
    const message =
      'Cannot share limits: "config.kv" is not set; set it, such as {path: limits.db}, and restart the gateway';
    return references.hasStore ? [] : [{ path, message }];
  }
  const { host } = store.service;
  const address = host === undefined ? undefined : splitHostPort(host);
  const denial = address && references.denialOf(address);
  if (denial !== undefined) {
    const message = `Cannot connect to "${host}": ${denial}`;
    return [{ path: [...path, "service", "host"], message }];
  }
  const ref = store.service.backendRef;
  if (ref === undefined) return [];
  const at = [...path, "service", "backendRef"];
  const backend = references.backend(ref);
  if (backend === undefined) return [references.missing(ref, at)];
  const message =
    `Cannot use backend "${backend.key}" as a rate limit service: expected HTTP/2`;
  return backend.protocol === "http1"
    ? [{ path: [...at, "name"], message }]
    : [];
}

/** Explains why a limit rejected a request. */
function explainLimit(failed: RecordedRequest): Explanation {
  if (failed.finished.status === 503) return explainUnknownLimit(failed);
  return {
    cause: `A rate limit rejected the request: ${errorOf(failed)}.${
      describeKey(deniedEntry(failed))
    }`,
    failing: namedPart("budget", deniedEntry(failed)?.name),
    advice: adviceOnLimit(failed),
  };
}

function explainUnknownLimit(failed: RecordedRequest): Explanation {
  return {
    cause: `A rate limit could not be evaluated: ${errorOf(failed)}.`,
    failing: undefined,
    advice:
      "Check that the store or service of `global` is available (`gwctl proxy limits`), and that every entry has a value; `failureMode: Open` forwards requests meanwhile.",
  };
}

function deniedEntry({ verdict }: RecordedRequest): RateLimitEntry | undefined {
  return verdict?.type === "rateLimit"
    ? verdict.entries.find((each) => each.verdict === "deny")
    : undefined;
}

/** Returns ` The budget is that of "anna".` */
function describeKey(entry: RateLimitEntry | undefined): string {
  if (entry?.key === undefined) return "";
  const owner = entry.key === ""
    ? "requests without a key"
    : JSON.stringify(entry.key);
  return ` The budget is that of ${owner}.`;
}

function adviceOnLimit(failed: RecordedRequest): string {
  const { finished } = failed;
  const entry = deniedEntry(failed);
  const wait = entry === undefined
    ? "Wait for the time in `retry-after`"
    : `Wait until ${resetTime(finished, entry)}, when the limit resets`;
  return `${wait}, or raise the limit under \`rateLimit\`. \`gwctl proxy limits\` shows the remaining budgets.`;
}

function resetTime(
  { time }: FinishedRequest,
  { resetSeconds }: { readonly resetSeconds: number },
): string {
  return new Date(time + resetSeconds * 1000).toISOString();
}
