import type { PolicyContext } from "../contract/policy.ts";
import { defineSlot } from "../contract/slot.ts";
import type { LlmRequest } from "./llm_variable.ts";
import type { McpMessage } from "./mcp_message.ts";

/** Value of the variable `llm`, once an expression has needed it and the body could be read. */
export const llmRequest = defineSlot<LlmRequest>("llm");

/** Value of the variable `mcp`, once an expression has needed it and the body could be read. */
export const mcpMessage = defineSlot<McpMessage>("mcp");

/** Values of `mcp` for each resource of a subscription to several, in place of one value. */
export const mcpSubscriptions = defineSlot<readonly McpMessage[]>(
  "mcpSubscriptions",
);

/** Kinds of policies whose expressions had no usable value, one entry per expression, such as `["rateLimit", "rateLimit"]`. */
export const failedExpressions = defineSlot<string[]>("failedExpressions");

/** Records that an expression of a policy of `kind` had no value for the request, or an unusable one. */
export function noteFailedExpression(
  { slots }: PolicyContext,
  kind: string,
): void {
  const failed = slots.get(failedExpressions);
  if (failed === undefined) slots.set(failedExpressions, [kind]);
  else failed.push(kind);
}
