import {
  isSecretHeader,
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
    ? isSecretHeader(name, sensitiveHeaders)
    : sensitiveParameters.has(name) || secretName.test(name);
}

const secretName =
  /secret|passw|credential|private|api_?key|session_?id|token$/;
