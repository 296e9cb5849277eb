import type { TokenUsage } from "../../../src/llm/usage/token_usage.ts";
import type { FinishedRequest } from "../../../src/telemetry/log/finished_request.ts";

/** Tokens of a response. */
export const tokenUsage: TokenUsage = {
  inputTokens: 100,
  outputTokens: 20,
  totalTokens: 120,
  cachedInputTokens: undefined,
  cacheCreationInputTokens: undefined,
  estimated: false,
  responseModel: "gpt-5",
  host: undefined,
  nanoUsd: 2_500_000_000,
  isPriced: true,
};

/** A request that went well. */
export const finishedRequest: FinishedRequest = {
  time: Date.UTC(2026, 0, 1),
  durationMs: 3.14159,
  port: 3000,
  gateway: "default",
  listener: "http",
  route: "mcp",
  backend: "tools",
  endpoint: "127.0.0.1:9000",
  source: "127.0.0.1:51000",
  client: "",
  method: "GET",
  host: "example.com",
  path: "/mcp",
  version: "1.1",
  status: 200,
  bytesSent: 300,
  requestId: "id-1",
  upstreamDurationMs: 2.5,
  reason: "upstream",
  retries: 0,
};
