import {
  type SensitiveHeaders,
  sensitiveParameters,
} from "../../base/redaction.ts";
import type { FieldPath } from "../cel/paths.ts";

/** Reports whether a field is a secret by its name, whatever its value. */
export function isSecretField(
  path: FieldPath,
  sensitiveHeaders: SensitiveHeaders,
): boolean {
  const name = path.at(-1)?.toLowerCase() ?? "";
  return path[0] === "request" && path[1] === "headers"
    ? sensitiveHeaders.has(name) || secretName.test(name.replaceAll("-", "_"))
    : sensitiveParameters.has(name) || secretName.test(name);
}

const secretName =
  /secret|passw|credential|private|api_?key|session_?id|token$/;
