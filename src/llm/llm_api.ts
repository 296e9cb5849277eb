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

/** In lower case. */
const endings: readonly (readonly [ending: string, api: LlmApi])[] = [
  ["/chat/completions", "chat"],
  ["/completions", "completions"],
  ["/responses", "responses"],
  ["/messages", "messages"],
  ["/embeddings", "embeddings"],
  ["/rerank", "rerank"],
  [":generatecontent", "gemini"],
  [":streamgeneratecontent", "gemini"],
  ["/converse", "converse"],
  ["/converse-stream", "converse"],
  // Anthropic models on Vertex.
  [":rawpredict", "messages"],
  [":streamrawpredict", "messages"],
];

/**
 * The interface that a request uses, from the end of its path: `POST /openai/deployments/x/chat/completions?api-version=1` is `chat`.
 *
 * `undefined` says nothing about the answer: where the path is unknown, its shape decides.
 */
export function detectLlmApi(method: string, path: string): LlmApi | undefined {
  if (method !== "POST") return undefined;
  const end = endOfPath(path);
  for (const [ending, api] of endings) {
    if (end.endsWith(ending)) return api;
  }
  return undefined;
}

/** Longer than any ending. */
const MAX_END_LENGTH = 32;

/** The last letters of a path without what many servers do not care about: capitals, slashes at the end, parameters after `;`. */
function endOfPath(path: string): string {
  const query = path.indexOf("?");
  let end = query < 0 ? path.length : query;
  while (path[end - 1] === "/") end--;
  const parameters = path.indexOf(";", path.lastIndexOf("/", end - 1));
  if (parameters >= 0 && parameters < end) end = parameters;
  return path.slice(Math.max(0, end - MAX_END_LENGTH), end).toLowerCase();
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
