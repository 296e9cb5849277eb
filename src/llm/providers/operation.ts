/** A family of LLM APIs: paths, and forms of requests, responses and errors. */
export type LlmFamily = "openai" | "anthropic" | "gemini" | "bedrock";

/** An operation of an LLM API that a client requests. */
export interface LlmOperation {
  readonly family: LlmFamily;
  /** Path below the root of the API, such as `chat/completions`, or the verb of Gemini and Bedrock, such as `converse`. */
  readonly name: string;
}

/** A request for the list of models, or for one of them. */
export interface ModelsOperation {
  readonly family: LlmFamily;
  readonly name: "models";
  /** Decoded; `undefined` for the list. */
  readonly model: string | undefined;
}

/** Operations below the root of an API. Others, such as those on files, would give clients more of the account than inference. */
const names: readonly (readonly [LlmFamily, string])[] = [
  ["openai", "chat/completions"],
  ["openai", "completions"],
  ["openai", "responses/input_tokens"],
  ["openai", "responses"],
  ["openai", "embeddings"],
  ["openai", "moderations"],
  ["openai", "rerank"],
  ["openai", "images/generations"],
  ["openai", "images/edits"],
  ["openai", "audio/speech"],
  ["openai", "audio/transcriptions"],
  ["openai", "audio/translations"],
  ["anthropic", "messages"],
  ["anthropic", "messages/count_tokens"],
];

const gemini =
  /\/models\/[^/?]+:(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)$/;
const bedrock =
  /\/model\/[^/?]+\/(converse|converse-stream|invoke|invoke-with-response-stream)$/;
const models = /\/models(?:\/([^/:]+(?:\/[^/:]+)?))?$/;

/**
 * Reads from method and path what a client requests; `undefined` for anything but inference and lists of models.
 * @param isAnthropic The request has `anthropic-version`.
 */
export function readOperation(
  method: string,
  target: string,
  isAnthropic: boolean,
): LlmOperation | ModelsOperation | undefined {
  const path = pathWithoutSlash(target);
  if (method === "GET") return readModelsOperation(path, isAnthropic);
  if (method !== "POST") return undefined;
  for (const [family, name] of names) {
    if (endsWithSegments(path, name)) return { family, name };
  }
  const [, ofGemini] = gemini.exec(path) ?? [];
  if (ofGemini !== undefined) return { family: "gemini", name: ofGemini };
  const [, ofBedrock] = bedrock.exec(path) ?? [];
  return ofBedrock === undefined
    ? undefined
    : { family: "bedrock", name: ofBedrock };
}

/** `/v1/chat/completions` is also the end `completions`, but the longer name comes first. */
function endsWithSegments(path: string, name: string): boolean {
  return path.endsWith(name) && path[path.length - name.length - 1] === "/";
}

function readModelsOperation(
  path: string,
  isAnthropic: boolean,
): ModelsOperation | undefined {
  const found = models.exec(path);
  if (found === null) return undefined;
  const family = isAnthropic
    ? "anthropic"
    : /\/v1beta\/models/.test(path)
    ? "gemini"
    : "openai";
  return { family, name: "models", model: decode(found[1]) };
}

/** Reports whether a request is for a list of models. */
export function isModelList(method: string, target: string): boolean {
  return method === "GET" && pathWithoutSlash(target).endsWith("/models");
}

/** Returns the model that a request is about, which is not for inference: `gpt-4o` of `GET /v1/models/gpt-4o`. */
export function readShownModel(
  method: string,
  target: string,
): string | undefined {
  return method === "GET"
    ? decode(models.exec(pathWithoutSlash(target))?.[1])
    : undefined;
}

function decode(segment: string | undefined): string | undefined {
  try {
    return segment && decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function pathWithoutSlash(target: string): string {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
