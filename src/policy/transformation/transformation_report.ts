import type { Log } from "../../base/log.ts";
import { EvaluationFailure } from "../../cel/evaluation_failure.ts";
import type { JsonValue } from "../../base/json.ts";
import type { EvaluatedHeader } from "./transformation_changes.ts";

/** Changes of a transformation besides headers. */
export interface ContentChanges {
  /** Names of the pseudo headers that were set, such as `[":path"]`. */
  readonly pseudo: readonly string[];
  /** Whether the body was replaced. */
  readonly body: boolean;
}

/**
 * What changed, for the trace: `{"set": [":path", "x-team"], "failed": {}, "body": false}`. Names and errors only: the values are in
 * the trace's snapshots, where those of sensitive headers are left out.
 */
export function describeChanges(
  { pseudo, body }: ContentChanges,
  headers: readonly EvaluatedHeader[],
): JsonValue {
  const set = headers.filter(({ value }) => typeof value === "string")
    .map(({ change: { name } }) => name);
  const failed = Object.fromEntries(
    failuresOf(headers).map(({ name, error }) => [name, error]),
  );
  return { set: [...pseudo, ...set], failed, body };
}

/** Logs which headers were removed. Never the expressions: one for a sensitive header may hold a secret. */
export function logFailures(
  log: Log,
  requestId: string,
  headers: readonly EvaluatedHeader[],
): void {
  if (!log.isEnabled("debug")) return;
  for (const { name, error } of failuresOf(headers)) {
    log.debug("A header was removed: its expression has no value", {
      "request.id": requestId,
      header: name,
      error,
    });
  }
}

function failuresOf(headers: readonly EvaluatedHeader[]) {
  return headers.flatMap(({ change: { name, expression }, value }) =>
    value instanceof EvaluationFailure
      ? [{ name, error: value.withoutValues(expression.shown) }]
      : []
  );
}
