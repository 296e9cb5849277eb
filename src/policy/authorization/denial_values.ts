import {
  type Hide,
  hideSignatures,
  REDACTION_MARKER,
  type SensitiveHeaders,
} from "../../base/redaction.ts";
import type { FieldPath } from "../cel/paths.ts";
import { isSecretField } from "../expressions/secret_fields.ts";
import { type ReadValue, TOO_LONG } from "../cel/read_values.ts";
import type { AuthorizationResult } from "../../telemetry/trace/trace_event.ts";

/** Fields of a rule, with their values as people may see them. */
export type ShownValues = NonNullable<
  AuthorizationResult["rules"][number]["values"]
>;

/** Secrets that values may have. */
export interface ValueSecrets {
  readonly hide: Hide;
  readonly sensitiveHeaders: SensitiveHeaders;
}

const MAX_LENGTH = 120;

/** Fields that are too long to explain a decision, or have what users write. */
const unshown: ReadonlySet<string> = new Set([
  "request",
  "request.body",
  "request.headers",
  "response",
  "jwt",
  "apiKey",
  "mcp",
  "mcp.tool",
  "mcp.tool.arguments",
  "llm",
]);

/** Describes the fields of a rule that denied a request: `[{"name": "apiKey.models", "value": "[\"small\"]"}]`. */
export function describeValues(
  fields: readonly ReadValue[],
  secrets: ValueSecrets,
): ShownValues {
  return fields.filter(({ path }) => !unshown.has(path.join("."))).map(
    ({ path, value }) => ({
      name: secrets.hide(nameOf(path)),
      value:
        isSecretField(path, secrets.sensitiveHeaders) && value !== undefined
          ? REDACTION_MARKER
          : shownValue(withoutQuery(path, value), secrets),
    }),
  );
}

/** Hides the values of the query, as everywhere but in traces: `/a?token=…&b=…`. */
function withoutQuery([variable, field]: FieldPath, value: unknown): unknown {
  const hasQuery = variable === "request" &&
    (field === "uri" || field === "pathAndQuery");
  return hasQuery && typeof value === "string"
    ? value.replace(/=[^&]*/g, "=…")
    : value;
}

function shownValue(value: unknown, { hide }: ValueSecrets): string {
  if (value === undefined) return "not set";
  if (value === TOO_LONG) return "too long to be shown";
  const text = hideSignatures(hide(JSON.stringify(value)));
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

/** Returns `request.headers["x-team"]` for the path of a field. */
function nameOf(path: FieldPath): string {
  return path.reduce<string>(
    (text, field) =>
      text === ""
        ? field
        : /^\w+$/.test(field)
        ? `${text}.${field}`
        : `${text}[${JSON.stringify(field)}]`,
    "",
  );
}
