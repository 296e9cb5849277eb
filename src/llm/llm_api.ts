/**
 * LLM APIs with known usage formats: OpenAI `chat` and legacy `completions` (and compatible APIs), `responses`, Anthropic
 * `messages`, `embeddings`, `rerank`, `gemini` (also Vertex) and Bedrock `converse`.
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

/** Path suffixes in lower case. */
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
 * Detects the API from the end of the path: `POST /openai/deployments/x/chat/completions?api-version=1` is `chat`.
 *
 * For an unknown path (`undefined`), the shape of the response decides.
 */
export function detectLlmApi(method: string, path: string): LlmApi | undefined {
  if (method !== "POST") return undefined;
  const end = endOfPath(path);
  for (const [ending, api] of endings) {
    if (end.endsWith(ending)) return api;
  }
  return undefined;
}

/** Exceeds the length of all suffixes. */
const MAX_END_LENGTH = 32;

/** Returns the end of a path, lower-cased, without trailing slashes and parameters after `;`, which many servers ignore. */
function endOfPath(path: string): string {
  const query = path.indexOf("?");
  let end = query < 0 ? path.length : query;
  while (path[end - 1] === "/") end--;
  const parameters = path.indexOf(";", path.lastIndexOf("/", end - 1));
  if (parameters >= 0 && parameters < end) end = parameters;
  return path.slice(Math.max(0, end - MAX_END_LENGTH), end).toLowerCase();
}

/**
 * Reads the model from paths of Gemini, Vertex, Bedrock and Azure: `gemini-2.5-flash` for
 * `/v1beta/models/gemini-2.5-flash:generateContent`.
 */
export function readPathModel(path: string): string | undefined {
  const [, gemini, bedrock, deployment] = modelInPath.exec(path) ?? [];
  const model = gemini ?? bedrock ?? deployment;
  return model === undefined ? undefined : decode(model);
}

const modelInPath =
  /^[^?]*\/(?:models\/([^/:?]{1,256}):\w+|model\/([^/?]{1,256})\/(?:converse|invoke)[^/?]*|openai\/deployments\/([^/?]{1,256})\/[^?]*)(?:\?|$)/;

/** Reports whether the path requests a stream, as with Gemini, Vertex and Bedrock. */
export function isStreamingPath(path: string): boolean {
  return streamingPath.test(path);
}

const streamingPath =
  /^[^?]*(?::stream\w+|\/converse-stream|\/invoke-with-response-stream)(?:\?|$)/;

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    // No provider accepts such a name either.
    return undefined;
  }
}
