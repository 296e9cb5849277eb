import type { Log } from "../../base/log/log.ts";
import { EvaluationFailure } from "../cel/evaluation_failure.ts";
import type { JsonValue } from "../../base/json.ts";
import type { EvaluatedHeader } from "./transformation_changes.ts";

/** Changes of a transformation besides headers. */
export interface ContentChanges {
  /** Names of the pseudo headers that were set, such as `[":path"]`. */
  readonly pseudo: readonly string[];
  /** True if the body was replaced. */
  readonly body: boolean;
}

/**
 * Describes changes for the trace: `{"set": [":path", "x-team"], "failed": {}, "body": false}`. The values are in the snapshots of
 * the trace, which leave out those of sensitive headers.
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

/** Logs removed headers, without the expressions, which may hold secrets. */
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
