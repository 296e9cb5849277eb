/**
 * The interfaces of LLM providers whose usage we know: OpenAI `chat` and legacy `completions` (and compatibles), `responses`,
 * Anthropic `messages`, `embeddings`, `rerank`, `gemini` (also Vertex) and Bedrock `converse`.
 */
export type LlmApi =
  | "chat"
  | "completions"
  | "responses"
  | "messages"
  | "embeddings"
  | "rerank"
  | "gemini"
  | "converse";

const endings: readonly (readonly [ending: string, api: LlmApi])[] = [
  ["/chat/completions", "chat"],
  ["/completions", "completions"],
  ["/responses", "responses"],
  ["/messages", "messages"],
  ["/embeddings", "embeddings"],
  ["/rerank", "rerank"],
  [":generateContent", "gemini"],
  [":streamGenerateContent", "gemini"],
  ["/converse", "converse"],
  ["/converse-stream", "converse"],
  // Anthropic models on Vertex.
  [":rawPredict", "messages"],
  [":streamRawPredict", "messages"],
];

/**
 * The interface that a request uses, from the end of its path: `POST /openai/deployments/x/chat/completions?api-version=1` is `chat`.
 *
 * `undefined` says nothing about the answer: where the path is unknown, its shape decides.
 */
export function detectLlmApi(method: string, path: string): LlmApi | undefined {
  if (method !== "POST") return undefined;
  const query = path.indexOf("?");
  const bare = query < 0 ? path : path.slice(0, query);
  for (const [ending, api] of endings) {
    if (bare.endsWith(ending)) return api;
  }
  return undefined;
}

/**
 * The model that Gemini, Vertex, Bedrock and Azure have in the path: `gemini-2.5-flash` for
 * `/v1beta/models/gemini-2.5-flash:generateContent`.
 */
export function readPathModel(path: string): string | undefined {
  const [, gemini, bedrock, deployment] = modelInPath.exec(path) ?? [];
  const model = gemini ?? bedrock ?? deployment;
  return model === undefined ? undefined : decode(model);
}

const modelInPath =
  /^[^?]*\/(?:models\/([^/:?]{1,256}):\w+|model\/([^/?]{1,256})\/(?:converse|invoke)[^/?]*|openai\/deployments\/([^/?]{1,256})\/[^?]*)(?:\?|$)/;

/** Whether the path asks for a stream, as those of Gemini, Vertex and Bedrock do. */
export function isStreamingPath(path: string): boolean {
  return streamingPath.test(path);
}

const streamingPath =
  /^[^?]*(?::stream\w+|\/converse-stream|\/invoke-with-response-stream)(?:\?|$)/;

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    // Not a name that a provider would know either.
    return undefined;
  }
}
