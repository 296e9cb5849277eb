import {
  errorOf,
  type Explanation,
  type FailingPart,
  namedPart,
} from "../../telemetry/failures/explanation.ts";
import type { RecordedRequest } from "../../telemetry/failures/recorded_request.ts";
import type { FinishedRequest } from "../../telemetry/log/finished_request.ts";

/** Explains why a limit rejected a request. */
export function explainLimit(failed: RecordedRequest): Explanation {
  if (failed.finished.status === 503) return explainUnknownLimit(failed);
  return {
    cause: `A rate limit rejected the request: ${errorOf(failed)}.`,
    failing: failingBudget(failed),
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

function failingBudget({ verdict }: RecordedRequest): FailingPart | undefined {
  if (verdict?.type !== "rateLimit") return undefined;
  const entry = verdict.entries.find((each) => each.verdict === "deny");
  return namedPart("budget", entry?.name);
}

function adviceOnLimit({ verdict, finished }: RecordedRequest): string {
  const entry = verdict?.type === "rateLimit"
    ? verdict.entries.find((each) => each.verdict === "deny")
    : undefined;
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
