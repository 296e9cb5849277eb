import type { JsonValue } from "./trace_state.ts";

const MAX_DEPTH = 32;

/** A copy as JSON has it; `null` for what JSON cannot say and for what is nested more than 32 deep. */
export function toJson(value: unknown, depth = MAX_DEPTH): JsonValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return Number(value);
    case "object":
      break;
    default:
      return null;
  }
  if (value === null || depth === 0) return null;
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth - 1));
  const entries = Object.entries(value).filter(([, item]) =>
    item !== undefined
  );
  return Object.fromEntries(
    entries.map(([name, item]) => [name, toJson(item, depth - 1)]),
  );
}
