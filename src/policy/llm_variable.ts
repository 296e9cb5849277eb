import { isJsonObject } from "../base/json.ts";
import { mapValue, type Value } from "../cel/library.ts";
import type { RequestMessage } from "../http/message.ts";
import {
  detectLlmApi,
  isStreamingPath,
  readPathModel,
} from "../llm/llm_api.ts";
import { ownField } from "./own_field.ts";
import { peekBody } from "./peeked_body.ts";
import { parseUnambiguous } from "./unambiguous_json.ts";

/** Longer bodies are not looked into. Images make them long, but few are longer than this. */
const maxRequestBytes = 8 * 1024 * 1024;

/**
 * The variable `llm`: what the request asks of an LLM, such as
 * `{"provider": "chat", "requestModel": "gpt-4o-mini", "streaming": true}`.
 *
 * `undefined` for a body that cannot be read, so that nothing passes that the expression has not seen. Fields that the request
 * does not have are left out, all but `streaming`.
 */
export async function readLlmVariable(
  request: RequestMessage,
): Promise<Value | undefined> {
  const { method, target } = request;
  const fields = new Map<string, Value>();
  const provider = detectLlmApi(method, target);
  if (provider !== undefined) fields.set("provider", provider);
  const asked = await readAsked(request, readPathModel(target));
  if (asked === undefined) return undefined;
  if (asked.model !== undefined) fields.set("requestModel", asked.model);
  fields.set("streaming", asked.streaming || isStreamingPath(target));
  return mapValue(fields);
}

interface Asked {
  readonly model: string | undefined;
  readonly streaming: boolean;
}

/** The model of the path, where there is one, is the one that the provider takes. */
async function readAsked(
  request: RequestMessage,
  pathModel: string | undefined,
): Promise<Asked | undefined> {
  const bytes = await peekBody(request, maxRequestBytes);
  const coding = request.headers.getJoined("content-encoding");
  if (bytes === undefined) return undefined;
  if (bytes.length === 0) return { model: pathModel, streaming: false };
  if (coding !== undefined && coding.toLowerCase() !== "identity") {
    return undefined;
  }
  try {
    const body = parseUnambiguous(bytes);
    if (!isJsonObject(body)) return undefined;
    const model = pathModel ?? ownField(body, "model");
    if (model !== undefined && typeof model !== "string") return undefined;
    return { model, streaming: ownField(body, "stream") === true };
  } catch {
    return undefined;
  }
}
