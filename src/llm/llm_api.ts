import { plainPath } from "./plain_path.ts";

/** Everything that differs between LLM APIs; an API is one entry of `llmApis`. */
interface LlmApiFacts {
  /** Ends of its paths, in lower case. */
  readonly endings: readonly string[];
  /** Of its requests; `GET` opens a WebSocket. */
  readonly method: "POST" | "GET";
  /** The size of a request in JSON and of its response tell about how many tokens they have. */
  readonly isEstimated: boolean;
  /** Provider in traces. */
  readonly provider: string;
  /** Relation of `input_tokens` to the tokens of the prompt cache; `undefined` when the API does not use that name. */
  readonly inputTokens: "withCache" | "withoutCache" | undefined;
  /** True if responses use output tokens. */
  readonly hasOutput: boolean;
  /** True if a stream reports its usage only when the request has `stream_options.include_usage`. */
  readonly needsIncludeUsage: boolean;
  /** True if `metadata` of a response has the usage; other APIs echo metadata of the client there. */
  readonly usageInMetadata: boolean;
  /** Beginning of the name, in its quotes, by which events with counts are found in a stream. */
  readonly streamKey: string;
}

const usual = {
  method: "POST",
  isEstimated: true,
  inputTokens: undefined,
  hasOutput: true,
  needsIncludeUsage: false,
  usageInMetadata: false,
  streamKey: "usage",
} as const;

/** LLM APIs with known usage formats. */
const llmApis = {
  /** OpenAI, and compatible APIs. */
  chat: {
    ...usual,
    endings: ["/chat/completions"],
    provider: "openai",
    needsIncludeUsage: true,
  },
  /** OpenAI's legacy API. */
  completions: {
    ...usual,
    endings: ["/completions"],
    provider: "openai",
    needsIncludeUsage: true,
  },
  responses: {
    ...usual,
    endings: ["/responses"],
    provider: "openai",
    inputTokens: "withCache",
  },
  /** Anthropic, also on Vertex. */
  messages: {
    ...usual,
    endings: ["/messages", ":rawpredict", ":streamrawpredict"],
    provider: "anthropic",
    inputTokens: "withoutCache",
  },
  embeddings: {
    ...usual,
    endings: ["/embeddings"],
    provider: "openai",
    hasOutput: false,
  },
  rerank: {
    ...usual,
    endings: ["/rerank"],
    provider: "cohere",
    hasOutput: false,
  },
  /** Gemini, also on Vertex. */
  gemini: {
    ...usual,
    endings: [":generatecontent", ":streamgeneratecontent"],
    provider: "gemini",
  },
  /** Gemini's own API; many of its models report no usage. */
  geminiEmbeddings: {
    ...usual,
    endings: [":embedcontent", ":batchembedcontents"],
    provider: "gemini",
    hasOutput: false,
  },
  /** Bedrock. */
  converse: {
    ...usual,
    endings: ["/converse", "/converse-stream"],
    provider: "bedrock",
    usageInMetadata: true,
  },
  cohere: { ...usual, endings: ["/v1/chat", "/v2/chat"], provider: "cohere" },
  ollama: {
    ...usual,
    endings: ["/api/chat", "/api/generate"],
    provider: "ollama",
  },
  /** IBM watsonx.ai; its chats have the usage of OpenAI's. */
  watsonx: {
    ...usual,
    endings: ["/text/chat", "/text/chat_stream"],
    provider: "ibm.watsonx.ai",
  },
  watsonxGeneration: {
    ...usual,
    endings: ["/text/generation", "/text/generation_stream"],
    provider: "ibm.watsonx.ai",
    streamKey: "generated_token_count",
  },
  /** The API of llama.cpp that is not OpenAI's. */
  llamacpp: {
    ...usual,
    endings: ["/completion", "/infill"],
    provider: "llamacpp",
    streamKey: "tokens_predicted",
  },
  /** Text Generation Inference of Hugging Face. */
  tgi: {
    ...usual,
    endings: ["/generate", "/generate_stream"],
    provider: "huggingface",
    streamKey: "generated_tokens",
  },
  /** Models of Vertex other than Gemini: embeddings, older ones for text. */
  predict: {
    ...usual,
    isEstimated: false,
    endings: [":predict"],
    provider: "gcp.vertex_ai",
  },
  /** OpenAI's transcriptions and translations of speech, which are forms. */
  transcriptions: {
    ...usual,
    isEstimated: false,
    endings: ["/audio/transcriptions", "/audio/translations"],
    provider: "openai",
    inputTokens: "withCache",
  },
  /** OpenAI's images; of `edits`, requests are forms. */
  images: {
    ...usual,
    isEstimated: false,
    endings: ["/images/generations", "/images/edits", "/images/variations"],
    provider: "openai",
    inputTokens: "withCache",
  },
  /** OpenAI's spoken texts: of responses, which are sound, the request says what they cost. */
  speech: {
    ...usual,
    isEstimated: false,
    endings: ["/audio/speech"],
    provider: "openai",
    inputTokens: "withCache",
  },
  /** Mistral's reading of documents. */
  ocr: {
    ...usual,
    isEstimated: false,
    endings: ["/ocr"],
    provider: "mistral_ai",
    hasOutput: false,
  },
  /** OpenAI's WebSockets: conversations, transcriptions, and responses one after the other. */
  realtime: {
    ...usual,
    method: "GET",
    isEstimated: false,
    endings: ["/realtime", "/v1/responses"],
    provider: "openai",
    inputTokens: "withCache",
  },
} satisfies Readonly<Record<string, LlmApiFacts>>;

/** Name of an LLM API: `llm.provider` in expressions. */
export type LlmApi = keyof typeof llmApis;

/** Returns the facts of an API. */
export function llmApiFacts(api: LlmApi): LlmApiFacts {
  return llmApis[api];
}

/** Returns the names of all APIs. */
export function llmApiNames(): readonly LlmApi[] {
  return Object.keys(llmApis).filter(isLlmApi);
}

/**
 * Detects the API from the end of the path: `POST /openai/deployments/x/chat/completions?api-version=1` is `chat`.
 *
 * For an unknown path (`undefined`), the shape of the response decides.
 */
export function detectLlmApi(method: string, path: string): LlmApi | undefined {
  if (method !== "POST" && method !== "GET") return undefined;
  if (method !== detected.method || path !== detected.path) {
    const end = endOfPath(path);
    const found = endings[method].find(([ending]) => end.endsWith(ending));
    detected = { method, path, api: found?.[1] };
  }
  return detected.api;
}

/** The last path: the parts of the pipeline ask for that of a request one after the other. */
let detected: {
  readonly method: string;
  readonly path: string;
  readonly api: LlmApi | undefined;
} = { method: "", path: "", api: undefined };

/** The longest first: of `/chat/completions` and `/completions`, the former decides. */
const endings = { POST: endingsOf("POST"), GET: endingsOf("GET") };

const longestEnding = Math.max(
  ...[...endings.POST, ...endings.GET].map(([ending]) => ending.length),
);

function endingsOf(method: LlmApiFacts["method"]) {
  return llmApiNames().filter((api) => llmApiFacts(api).method === method)
    .flatMap((api) =>
      llmApiFacts(api).endings.map((ending) => [ending, api] as const)
    ).sort(([one], [other]) => other.length - one.length);
}

function isLlmApi(name: string): name is LlmApi {
  return Object.hasOwn(llmApis, name);
}

/** Returns the end of a path, lower-cased, without slashes. */
function endOfPath(target: string): string {
  const path = plainPath(target);
  let end = path.length;
  while (path[end - 1] === "/") end--;
  return path.slice(Math.max(0, end - longestEnding), end).toLowerCase();
}

/**
 * Reads the model from paths of Gemini, Vertex, Bedrock and Azure: `gemini-2.5-flash` for
 * `/v1beta/models/gemini-2.5-flash:generateContent`; of a WebSocket from its query.
 */
export function readPathModel(path: string): string | undefined {
  if (realtimePath.test(path)) return readQueryModel(path);
  const [, gemini, bedrock, deployment] = modelInPath.exec(path) ??
    modelInPath.exec(plainPath(path)) ?? [];
  const model = gemini ?? bedrock ?? deployment;
  return model === undefined ? undefined : decode(model);
}

const modelInPath =
  /^[^?]*\/(?:(?:models|tunedModels|endpoints)\/([^/?]+?)(?::|%3A)\w+\/*|model\/([^/?]+)\/(?:converse|invoke)[^/?]*\/*|openai\/deployments\/([^/?]+)\/[^?]*)(?:\?|$)/;

/** Not that of responses, where a POST has the same path, and the model in its body. */
const realtimePath = /^[^?]*\/realtime\/*(?:;[^?/]*)?\?/i;

/** Reads `gpt-realtime` of `/v1/realtime?model=gpt-realtime`; `undefined` if the query names several. */
function readQueryModel(path: string): string | undefined {
  const start = path.indexOf("?");
  const query = new URLSearchParams(start < 0 ? "" : path.slice(start));
  const names = new Set(
    ["model", "deployment"].flatMap((name) => query.getAll(name)),
  );
  const [model] = names;
  return names.size === 1 ? model : undefined;
}

/** Reports whether the path requests a stream, as with Gemini, Vertex and Bedrock. */
export function isStreamingPath(path: string): boolean {
  return streamingPath.test(path);
}

const streamingPath =
  /^[^?]*(?:(?::|%3A)stream\w+|\/converse-stream|\/invoke-with-response-stream)\/*(?:\?|$)/;

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    // No provider accepts such a name either.
    return undefined;
  }
}
