import { Buffer } from "node:buffer";
import { LlmApiError } from "../../base/errors.ts";
import type { JsonValue } from "../../base/json.ts";
import { JsonProblem } from "../../base/json/json_ambiguity.ts";
import { type Body, BytesBody } from "../../http/body.ts";
import {
  type ReadBody,
  readFields,
  withFields,
} from "../../llm/body_changes.ts";
import { isStreamingPath, readPathModel } from "../../llm/llm_api.ts";
import { modelOf } from "../../llm/llm_target.ts";
import type { LlmFamily, LlmOperation } from "../../llm/providers/operation.ts";
import type { ProviderApi } from "../../llm/providers/llm_provider.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import {
  contentProblem,
  isForm,
} from "../../policy/expressions/readable_content.ts";
import type { LlmCall } from "./llm_call.ts";

/** Name of a mark for the prompt cache of Anthropic, on a request or a part of one. */
const CACHE_MARK = "cache_control";

/** Families whose requests have the model in the body. */
const bodyFamilies: ReadonlySet<LlmFamily> = new Set(["openai", "anthropic"]);

/** A body as the provider gets it. */
export interface PreparedBody {
  readonly body: Body | undefined;
  /** All of it, if the authorization covers it. */
  readonly bytes: Uint8Array | undefined;
  /** Name of the model at the provider. */
  readonly model: string | undefined;
  readonly streaming: boolean;
}

/**
 * Changes the body as the backend's configuration says. A body that stays as it is, is not read, and needs no promise.
 * @throws {LlmApiError} `llm_request_invalid`
 */
export function prepareBody(
  call: LlmCall,
  { family, name }: LlmOperation,
  api: ProviderApi,
): PreparedBody | Promise<PreparedBody> {
  const { target, request, body } = call;
  const { model, aliases, changes, authorization } = target;
  const pathModel = readPathModel(request.target);
  // Paths of Azure have a model next to that of the body: the provider gets the one that rules have seen.
  const hasBodyModel = pathModel === undefined || bodyFamilies.has(family);
  const needsModel = hasBodyModel &&
    (api.hasModelInPath === true || model !== undefined || aliases.size > 0 ||
      pathModel !== undefined);
  // Only Anthropic itself marks the end of a prompt by a field of the request.
  const addsMark = target.marksCaches && target.name === "Anthropic" &&
    name === "messages";
  const needsRead = needsModel || !changes.isEmpty || addsMark;
  const isFormBody = isForm(request.headers);
  // Some servers read JSON whatever its type is: a form must not get past the configuration.
  if (isFormBody && (model !== undefined || !changes.isEmpty)) {
    body?.cancel("form");
    throw invalidRequest(
      family,
      "Cannot change a form as the configuration of the backend requires; send application/json",
    );
  }
  if (needsRead && !isFormBody) {
    const facts = { family, api, pathModel, hasBodyModel, addsMark };
    return changeBody(call, facts);
  }
  const unchanged = {
    body,
    bytes: undefined,
    model: modelOf(target, pathModel),
    streaming: isStreamingPath(request.target),
  };
  if (authorization?.coversBody !== true) return unchanged;
  return readBytes(call, family).then((bytes) => ({
    ...unchanged,
    body: new BytesBody(bytes),
    bytes,
  }));
}

async function changeBody(
  call: LlmCall,
  { family, api, pathModel, hasBodyModel, addsMark }: {
    readonly family: LlmFamily;
    readonly api: ProviderApi;
    readonly pathModel: string | undefined;
    readonly hasBodyModel: boolean;
    /** A prompt without marks for the cache gets one. */
    readonly addsMark: boolean;
  },
): Promise<PreparedBody> {
  const { target, request } = call;
  const bytes = await readBytes(call, family);
  const read = await readJsonFields(call, bytes, family);
  const requested = pathModel ?? read.fields["model"];
  if (requested !== undefined && typeof requested !== "string") {
    throw invalid(family, '"model" must be a string');
  }
  const own = modelOf(target, requested);
  const changed: Record<string, JsonValue> = {
    ...(addsMark && !Buffer.from(bytes).includes(CACHE_MARK) && {
      [CACHE_MARK]: { type: "ephemeral" },
    }),
    ...changedFields(target.changes, read, own, hasBodyModel),
  };
  const namesOthers = Boolean(read.fields["models"]) &&
    changed["models"] === undefined;
  if (target.model !== undefined && namesOthers) {
    throw invalidRequest(
      family,
      '"models" is not allowed: this backend has one model',
    );
  }
  const parts = withFields(bytes, read, changed, api.replacesModel);
  const whole = target.authorization?.coversBody === true
    ? Buffer.concat(parts)
    : undefined;
  return {
    body: whole === undefined ? new BytesBody(...parts) : new BytesBody(whole),
    bytes: whole,
    model: own,
    streaming: read.fields["stream"] === true ||
      isStreamingPath(request.target),
  };
}

function changedFields(
  changes: LlmCall["target"]["changes"],
  { fields }: ReadBody,
  model: string | undefined,
  hasBodyModel: boolean,
): Record<string, JsonValue> {
  return {
    ...(hasBodyModel && model !== undefined && { model }),
    ...changes.of(fields),
  };
}

/**
 * Reads the whole body; it is gone from the message then.
 * @throws {LlmApiError}
 */
export async function readBytes(
  { body, held, request, maxBufferBytes, onRead }: LlmCall,
  family: LlmFamily,
): Promise<Uint8Array> {
  const problem = contentProblem(request.headers);
  if (problem !== undefined && !isForm(request.headers)) {
    body?.cancel(problem);
    throw invalid(family, problem);
  }
  const holder = { body, held };
  const bytes = await peekBody(holder, maxBufferBytes);
  if (bytes !== undefined) {
    if (body !== undefined) onRead(bytes);
    return bytes;
  }
  holder.body?.cancel("too long");
  throw new LlmApiError(
    "body_too_large",
    "downstream",
    `Cannot change the request: the body is longer than ${maxBufferBytes} bytes`,
    family,
  );
}

/**
 * Returns the model at the provider that a body is for; `undefined` if it names none.
 * @throws {LlmApiError}
 */
export async function readModel(
  call: LlmCall,
  bytes: Uint8Array,
  family: LlmFamily,
): Promise<string | undefined> {
  const { model } = (await readJsonFields(call, bytes, family)).fields;
  return modelOf(call.target, typeof model === "string" ? model : undefined);
}

async function readJsonFields(
  { target: { changes } }: LlmCall,
  bytes: Uint8Array,
  family: LlmFamily,
): Promise<ReadBody> {
  try {
    const read = await readFields(bytes, changes.selection);
    if (read !== undefined) return read;
    throw invalid(family, "it is no object");
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw invalid(family, error.message);
  }
}

/** Creates the error for a request that cannot be forwarded. */
export function invalidRequest(
  family: LlmFamily,
  message: string,
): LlmApiError {
  return new LlmApiError("llm_request_invalid", "downstream", message, family);
}

function invalid(family: LlmFamily, problem: string): LlmApiError {
  return invalidRequest(family, `Cannot read the body: ${problem}`);
}
