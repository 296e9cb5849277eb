import {
  joinShapes,
  type JsonShape,
  WHOLE,
} from "../../base/json/json_shape.ts";
import type { Expression } from "../cel/expression.ts";
import type { PolicyContext } from "../contract/policy.ts";
import {
  llmRequest,
  mcpMessage,
  mcpSubscriptions,
} from "./expression_slots.ts";
import { detectLlmApi } from "../../llm/llm_api.ts";
import { readLlmRequest } from "./llm_variable.ts";
import { usageFields } from "./llm_usage.ts";
import { McpReader, resolveTarget } from "./mcp_message.ts";

/** Variables that one or several expressions read from the body. */
export interface BodyUse {
  readonly readsLlm: boolean;
  /** Set when `mcp` is read. */
  readonly mcp: McpReader | undefined;
}

/** Returns the body variables that an expression reads. */
export function bodyUseOf(expression: Expression): BodyUse {
  return {
    readsLlm: readsLlmRequest(expression),
    mcp: expression.variables.has("mcp")
      ? new McpReader(expression.shapeAt(["mcp", "tool", "arguments"]) ?? {})
      : undefined,
  };
}

function readsLlmRequest(expression: Expression): boolean {
  const shape = expression.shapeAt(["llm"]);
  if (shape === undefined) return false;
  return shape === WHOLE ||
    Object.keys(shape).some((name) => !usageFields.includes(`llm.${name}`));
}

/** Joins the body variables of several expressions; `undefined` when there are none. */
export function joinBodyUses(
  uses: readonly (BodyUse | undefined)[],
): BodyUse | undefined {
  const readsLlm = uses.some((use) => use?.readsLlm);
  const shapes = uses.flatMap((use) => use?.mcp?.argumentShape ?? []);
  const mcp = shapes.length === 0
    ? undefined
    : new McpReader(shapes.reduce<JsonShape>(joinShapes, {}));
  return readsLlm || mcp !== undefined ? { readsLlm, mcp } : undefined;
}

/**
 * Reads the body variables of expressions into slots of the context. An upgrade has none but the model in its path: no policy sees
 * the bytes after it.
 * @throws {GatewayError} If backends may read the body differently.
 */
export async function readBodyVariables(
  context: PolicyContext,
  { readsLlm, mcp }: BodyUse,
): Promise<void> {
  const { request, slots } = context;
  const { method, target, upgrade } = request;
  if (upgrade !== undefined && detectLlmApi(method, target) === undefined) {
    return;
  }
  if (readsLlm) slots.set(llmRequest, await readLlmRequest(request));
  if (mcp !== undefined && upgrade === undefined) {
    const messages = (await mcp.read(request))
      .flatMap((message) => resolveTarget(message, context) ?? []);
    const [message, ...others] = messages;
    slots.set(mcpMessage, others.length === 0 ? message : undefined);
    slots.set(mcpSubscriptions, others.length === 0 ? undefined : messages);
  }
}
