import type { LlmProviderName } from "../../api/resources/llm_backend.ts";
import { isJsonObject } from "../../base/json.ts";
import { awsAuthorization } from "./aws_authorization.ts";
import { googleAuthorization } from "./google_authorization.ts";
import {
  keyHeader,
  type LlmProvider,
  type ProviderApi,
  type ProviderCall,
  type ProviderPlace,
} from "./llm_provider.ts";

/** An API whose operations are below one path. */
function below(
  root: string,
  operations?: ProviderApi["operations"],
): ProviderApi {
  return {
    ...(operations && { operations }),
    path: ({ basePath = root, operation }) => `${basePath}/${operation.name}`,
  };
}

const openAi: LlmProvider = {
  requires: [],
  host: () => "api.openai.com",
  apis: { openai: below("/v1") },
  models: ({ basePath = "/v1" }) => ({
    path: `${basePath}/models`,
    family: "openai",
  }),
  authorization: keyHeader("authorization", "Bearer "),
  translatesTo: () => "openai",
  outputLimit: "max_completion_tokens",
  headers: [],
  requestIdHeader: "x-request-id",
};

/** The LLM providers; the names are those of `llm.provider` in the configuration. */
export const llmProviders: Readonly<Record<LlmProviderName, LlmProvider>> = {
  OpenAI: openAi,
  OpenAICompatible: {
    ...openAi,
    requires: ["host"],
    host: undefined,
    outputLimit: "max_tokens",
    mayLack: ["responses"],
  },
  Anthropic: {
    requires: [],
    host: () => "api.anthropic.com",
    apis: { anthropic: below("/v1") },
    models: ({ basePath = "/v1" }) => ({
      path: `${basePath}/models?limit=1000`,
      family: "anthropic",
    }),
    authorization: keyHeader("x-api-key"),
    translatesTo: () => "anthropic",
    headers: [["anthropic-version", "2023-06-01"]],
    requestIdHeader: "request-id",
  },
  Gemini: {
    requires: [],
    host: () => "generativelanguage.googleapis.com",
    apis: {
      gemini: {
        path: ({ basePath = "/v1beta", model, operation }) =>
          `${basePath}/models/${segment(model)}:${operation.name}`,
        hasModelInPath: true,
        wrapsCount: true,
      },
      openai: below("/v1beta/openai", ["embeddings", "images/generations"]),
    },
    models: ({ basePath = "/v1beta" }) => ({
      path: `${basePath}/models?pageSize=1000`,
      family: "gemini",
    }),
    authorization: keyHeader("x-goog-api-key"),
    rejectsKey: rejectsGoogleKey,
    translatesTo: () => "gemini",
    headers: [],
    requestIdHeader: "x-goog-request-id",
  },
  Azure: {
    requires: ["host"],
    host: undefined,
    apis: {
      openai: below("/openai/v1"),
      anthropic: below("/anthropic/v1"),
    },
    models: ({ basePath = "/openai/v1" }) => ({
      path: `${basePath}/models`,
      family: "openai",
    }),
    authorization: keyHeader("api-key"),
    translatesTo: () => "openai",
    outputLimit: "max_completion_tokens",
    headers: [["anthropic-version", "2023-06-01"]],
    requestIdHeader: "apim-request-id",
  },
  Vertex: {
    requires: ["region", "project"],
    host: ({ region = "global" }) =>
      region === "global"
        ? "aiplatform.googleapis.com"
        : `${region}-aiplatform.googleapis.com`,
    apis: {
      gemini: {
        operations: ["generateContent", "streamGenerateContent", "countTokens"],
        path: (call) =>
          call.operation.name === "rank"
            ? rankPath(call)
            : `${vertexPath(call)}/publishers/google/models/${
              segment(call.model)
            }:${call.operation.name}`,
        hasModelInPath: true,
      },
      anthropic: {
        operations: ["messages"],
        path: (call) =>
          `${vertexPath(call)}/publishers/anthropic/models/${
            segment(call.model)
          }:${call.streaming ? "streamRawPredict" : "rawPredict"}`,
        hasModelInPath: true,
        serves: (model) => !model.startsWith("gemini"),
        takesUrls: false,
        replacesModel: { anthropic_version: "vertex-2023-10-16" },
      },
    },
    models: undefined,
    authorization: googleAuthorization,
    // From LiteLLM's table of what each provider accepts, 2026-11-20.
    betas:
      /^(?:compact|computer-use|context-1m|context-management|dangerous-tool-use|interleaved-thinking|per-turn-control|thinking-binding-controls|thinking-display-updates|tool-search-tool|web-search)-\d{4}-\d\d-\d\d$/,
    translatesTo: (model) =>
      model?.startsWith("claude") ? "anthropic" : "gemini",
    headers: [],
    requestIdHeader: "x-goog-request-id",
  },
  Bedrock: {
    requires: ["region"],
    host: ({ region = "" }) => `bedrock-runtime.${region}.amazonaws.com`,
    apis: {
      bedrock: {
        path: ({ basePath = "", model, operation }: ProviderCall) =>
          `${basePath}/model/${segment(model)}/${operation.name}`,
        hasModelInPath: true,
      },
    },
    models: undefined,
    authorization: awsAuthorization,
    translatesTo: () => "bedrock",
    headers: [],
    requestIdHeader: "x-amzn-requestid",
  },
};

/** Reads the reason of an error of Google; errors of streams are in a list. */
function rejectsGoogleKey(body: unknown): boolean {
  const answer: unknown = Array.isArray(body) ? body[0] : body;
  const error = isJsonObject(answer) ? answer["error"] : undefined;
  const details = isJsonObject(error) ? error["details"] : undefined;
  return Array.isArray(details) &&
    details.some((each) =>
      isJsonObject(each) && each["reason"] === "API_KEY_INVALID"
    );
}

function vertexPath(
  { basePath = "/v1", project = "", region = "global" }: ProviderPlace,
): string {
  return `${basePath}/projects/${project}/locations/${region}`;
}

/** Rankings are an API of another host, and of multi-regions only. */
function rankPath(
  { basePath = "/v1", project = "", region }: ProviderPlace,
): string {
  const location = region === "us" || region === "eu" ? region : "global";
  return `${basePath}/projects/${project}/locations/${location}/rankingConfigs/default_ranking_config:rank`;
}

function segment(model = ""): string {
  return encodeURIComponent(model);
}
