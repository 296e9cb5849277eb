import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { POLICY_API_GROUP } from "../../api/resources/group.ts";
import {
  type KeyCredentials,
  LLM_SECRET_ENTRY,
} from "../../api/resources/llm_backend.ts";
import { readFileOf, readSecretValue } from "../resolve/references.ts";
import type { BackendContext } from "./backend_context.ts";

/**
 * Returns the key of a backend.
 * @throws {TypeError} When it cannot be used.
 */
export function readKey(
  { metadata }: GatewayBackend,
  { fromEnv, key, file, secretRef }: KeyCredentials,
  context: BackendContext,
): string {
  if (metadata.uid !== undefined && secretRef === undefined) {
    throw new TypeError('a backend of the cluster needs "secretRef"');
  }
  if (fromEnv !== undefined && key === undefined) {
    throw new TypeError(`environment variable "${fromEnv}" is not set`);
  }
  const text = key ??
    (file === undefined
      ? readSecretValue(
        {
          group: POLICY_API_GROUP,
          kind: "GatewayBackend",
          namespace: metadata.namespace,
        },
        { ...secretRef ?? { name: "" }, entry: LLM_SECRET_ENTRY },
        context.inputs,
      )
      : readKeyFile(file, context));
  const trimmed = text.trim();
  if (trimmed === "") throw new TypeError("it is empty");
  return trimmed;
}

function readKeyFile(file: string, { inputs }: BackendContext): string {
  try {
    return readFileOf(inputs)(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new TypeError(`no such file "${file}"`);
  }
}
