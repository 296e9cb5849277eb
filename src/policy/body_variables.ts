import type { Value } from "../cel/library.ts";
import type { VariableName } from "../cel/variables.ts";
import { readLlmVariable } from "./llm_variable.ts";
import { readMcpVariable } from "./mcp_variable.ts";
import type { PolicyContext } from "./policy.ts";

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
 * Reads ahead what expressions need of the body: answers `mcp`, and leaves `llm` in the context. Neither is there for an upgrade:
 * nobody sees what follows it.
 */
export async function readBodyVariables(
  context: PolicyContext,
  { readsMcp, readsLlm }: BodyUse,
): Promise<Value | undefined> {
  if (context.request.upgrade !== undefined) return undefined;
  if (readsLlm) context.llmRequest = await readLlmVariable(context.request);
  return readsMcp ? await readMcpVariable(context.request) : undefined;
}
