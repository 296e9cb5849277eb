import type { VariableName } from "../../cel/variables.ts";
import { llmRequest, mcpMessage } from "./expression_slots.ts";
import { readLlmRequest } from "./llm_variable.ts";
import { readMcpMessage } from "./mcp_variable.ts";
import type { PolicyContext } from "../policy.ts";
import { assertReadableContent } from "./readable_content.ts";

/** Which variables that come from the body an expression reads, or any of several expressions. */
export interface BodyUse {
  readonly readsMcp: boolean;
  readonly readsLlm: boolean;
}

/** What an expression with those variables reads. */
export function bodyUseOf(variables: ReadonlySet<VariableName>): BodyUse {
  return { readsMcp: variables.has("mcp"), readsLlm: variables.has("llm") };
}

/** What all of them read together; `undefined` when it is nothing. */
export function joinBodyUses(
  uses: readonly (BodyUse | undefined)[],
): BodyUse | undefined {
  const readsMcp = uses.some((use) => use?.readsMcp);
  const readsLlm = uses.some((use) => use?.readsLlm);
  return readsMcp || readsLlm ? { readsMcp, readsLlm } : undefined;
}

/**
 * Reads ahead what expressions need of the body, and leaves it in the context. For an upgrade there is nothing: nobody sees what
 * follows it.
 * @throws {GatewayError} When the backend may read another body.
 */
export async function readBodyVariables(
  context: PolicyContext,
  { readsMcp, readsLlm }: BodyUse,
): Promise<void> {
  const { request, slots } = context;
  if (request.upgrade !== undefined) return;
  if (request.body !== undefined) assertReadableContent(request.headers);
  if (readsLlm) slots.set(llmRequest, await readLlmRequest(request));
  if (readsMcp) slots.set(mcpMessage, await readMcpMessage(request));
}
