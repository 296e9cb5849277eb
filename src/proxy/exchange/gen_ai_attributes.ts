/**
 * Attributes of the OpenTelemetry conventions for generative AI and for MCP.
 *
 * @module
 */
import { redactUrl } from "../../base/redaction.ts";
import { NANO_USD } from "../../base/log/log_text.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import type { RequestMessage } from "../../http/message.ts";
import {
  detectLlmApi,
  isStreamingPath,
  type LlmApi,
  llmApiFacts,
  readPathModel,
} from "../../llm/llm_api.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import type { Attributes } from "../../telemetry/spans/span.ts";
import type { LlmFacts } from "../trace/spans/request_span.ts";
import { readSmallBody, type RpcMessage } from "../trace/spans/rpc_message.ts";

const MAX_MODEL_LENGTH = 128;

/** Operations that are not chats. */
const operations: Partial<Record<LlmApi, string>> = {
  completions: "text_completion",
  embeddings: "embeddings",
  gemini: "generate_content",
  llamacpp: "text_completion",
  rerank: "rerank",
  tgi: "text_completion",
  watsonxGeneration: "text_completion",
};

/** Providers whose names in the conventions are others than those of the gateway. */
const providers: Readonly<Record<string, string>> = {
  OpenAI: "openai",
  OpenAICompatible: "openai",
  Anthropic: "anthropic",
  Gemini: "gcp.gemini",
  Vertex: "gcp.vertex_ai",
  Bedrock: "aws.bedrock",
  Azure: "azure.ai.openai",
  gemini: "gcp.gemini",
  bedrock: "aws.bedrock",
};

/** A request to an LLM, and what is known of its response. */
export interface LlmOperation {
  readonly api: LlmApi;
  readonly facts: LlmFacts | undefined;
  /** Set for an LLM backend. */
  readonly target: LlmTarget | undefined;
  readonly usage: TokenUsage | undefined;
  /** From the acceptance of the request. */
  readonly firstTokenMs: number | undefined;
}

/** Reads the model of a request to an LLM; `undefined` for other requests. */
export async function readLlmFacts(
  request: RequestMessage,
): Promise<LlmFacts | undefined> {
  const { method, target } = request;
  if (detectLlmApi(method, target) === undefined) return undefined;
  const body = await readSmallBody(request, selection);
  const model = readPathModel(target) ?? body?.["model"];
  return {
    model: typeof model === "string"
      ? model.slice(0, MAX_MODEL_LENGTH)
      : undefined,
    isStreamed: body?.["stream"] === true || isStreamingPath(target),
  };
}

const selection = new JsonSelection({ model: WHOLE, stream: WHOLE });

/** Returns the name of the span of an operation: `chat gpt-4o-mini`. */
export function llmSpanName({ api, facts }: LlmOperation): string {
  const operation = operations[api] ?? "chat";
  return facts?.model === undefined ? operation : `${operation} ${facts.model}`;
}

/** Returns the name of a provider in the conventions, such as `openai`. @param target Set for an LLM backend. */
export function providerName(
  api: LlmApi,
  target: LlmTarget | undefined,
): string {
  const provider = target?.name ?? llmApiFacts(api).provider;
  return providers[provider] ?? provider;
}

/** Returns the attributes of an operation. */
export function llmAttributes(
  { api, facts, target, usage, firstTokenMs }: LlmOperation,
): Attributes {
  return {
    "gen_ai.operation.name": operations[api] ?? "chat",
    "gen_ai.provider.name": providerName(api, target),
    "gen_ai.request.model": facts?.model,
    "gen_ai.request.stream": facts?.isStreamed,
    "gen_ai.response.model": usage?.responseModel,
    "gen_ai.usage.input_tokens": usage?.inputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage?.cachedInputTokens,
    "gen_ai.usage.output_tokens": usage?.outputTokens,
    "gen_ai.response.time_to_first_chunk": firstTokenMs === undefined
      ? undefined
      : firstTokenMs / 1000,
    "gateway.llm.cost_usd": usage?.isPriced
      ? usage.nanoUsd / NANO_USD
      : undefined,
  };
}

/** Returns the attributes of a message of MCP. */
export function rpcAttributes(
  { method, id, tool, prompt, resource, protocolVersion }: RpcMessage,
  session: {
    readonly protocolVersion: string | undefined;
    readonly sessionId: string | undefined;
  },
): Attributes {
  return {
    "mcp.method.name": method,
    "mcp.protocol.version": protocolVersion ?? session.protocolVersion,
    "mcp.session.id": session.sessionId,
    "mcp.resource.uri": resource === undefined
      ? undefined
      : redactUrl(resource),
    "jsonrpc.request.id": id,
    "gen_ai.operation.name": method === "tools/call"
      ? "execute_tool"
      : undefined,
    "gen_ai.tool.name": tool,
    "gen_ai.prompt.name": prompt,
  };
}
