import { GatewayError, type GatewayErrorCode } from "../../base/errors.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import type { RequestMessage } from "../../http/message.ts";
import {
  detectLlmApi,
  isStreamingPath,
  type LlmApi,
  readPathModel,
} from "../../llm/llm_api.ts";
import { readShownModel } from "../../llm/providers/operation.ts";
import { isBatchCreation } from "../../llm/batch/stored_output.ts";
import { readBatchModel } from "./batch_model.ts";
import { readJsonBody } from "./json_body.ts";

/** Longer bodies are not read. Bodies with images are long, but rarely longer than this. */
const MAX_REQUEST_BYTES = 8 * 1024 * 1024;

/** Properties of a request to an LLM, such as `{"provider": "chat", "requestModel": "gpt-4o-mini", "streaming": true}`. */
export interface LlmRequest {
  readonly provider?: LlmApi;
  readonly requestModel?: string;
  /** Further models, one of which may respond: `models` of OpenRouter. Rules hold for each, other expressions error. */
  readonly otherModels?: readonly string[];
  readonly streaming: boolean;
}

/** Reads the variable `llm`; `undefined` for an unreadable body, which makes expressions error and rules deny. */
export async function readLlmRequest(
  request: RequestMessage,
): Promise<LlmRequest | undefined> {
  const { method, target } = request;
  const provider = detectLlmApi(method, target);
  const pathModel = readPathModel(target) ?? readShownModel(method, target);
  const read = isBatchCreation(method, target)
    ? await readModelOfBatch(request, pathModel)
    : await readModel(request, pathModel);
  if (read === undefined) return undefined;
  return {
    ...(provider !== undefined && { provider }),
    ...(read.model !== undefined && { requestModel: read.model }),
    ...(read.others.length > 0 && { otherModels: read.others }),
    streaming: read.streaming || isStreamingPath(target),
  };
}

/** Reads the model that a request names; `undefined` when it names none or several, or servers may read it differently. */
export async function readRequestModel(
  request: RequestMessage,
): Promise<string | undefined> {
  return (await readRequestedModel(request)).model;
}

/** A model that a request names, as `readRequestModel` returns it, and whether its response is a stream. */
export interface RequestedModel {
  readonly model: string | undefined;
  readonly isStreaming: boolean;
}

/** Reads the model of a request, and whether it is for a stream. */
export async function readRequestedModel(
  request: RequestMessage,
): Promise<RequestedModel> {
  try {
    const read = await readLlmRequest(request);
    const isOnly = read?.otherModels === undefined;
    return {
      model: isOnly ? read?.requestModel : undefined,
      isStreaming: read?.streaming === true,
    };
  } catch (error) {
    if (error instanceof GatewayError && unreadable.has(error.code)) {
      return { model: undefined, isStreaming: false };
    }
    throw error;
  }
}

const unreadable: ReadonlySet<GatewayErrorCode> = new Set([
  "bad_request",
  "unsupported_media_type",
]);

interface ReadBody {
  readonly model: string | undefined;
  readonly others: readonly string[];
  readonly streaming: boolean;
}

async function readModelOfBatch(
  request: RequestMessage,
  pathModel: string | undefined,
): Promise<ReadBody | undefined> {
  const model = await readBatchModel(request, MAX_REQUEST_BYTES, pathModel);
  return model === undefined
    ? undefined
    : { model, others: [], streaming: false };
}

/** Prefers the model in the path, which is the one that the provider uses. */
async function readModel(
  request: RequestMessage,
  pathModel: string | undefined,
): Promise<ReadBody | undefined> {
  const body = await readJsonBody(request, MAX_REQUEST_BYTES, selection);
  if (body === undefined) return undefined;
  const named = body?.["models"] ?? [];
  if (!Array.isArray(named) || named.length > MAX_MODELS) return undefined;
  const first = pathModel ?? body?.["model"];
  const models = new Set<unknown>(
    first === undefined ? named : [first, ...named],
  );
  const known = [...models].filter((each) => typeof each === "string");
  if (known.length < models.size) return undefined;
  const [model, ...others] = known;
  return { model, others, streaming: body?.["stream"] === true };
}

/** OpenRouter accepts fewer. */
const MAX_MODELS = 32;

const selection = new JsonSelection({
  model: WHOLE,
  models: WHOLE,
  stream: WHOLE,
});
