import type { ResponseMessage } from "../../http/message.ts";
import { readPathModel } from "../../llm/llm_api.ts";
import { modelOf } from "../../llm/llm_target.ts";
import type { LlmOperation } from "../../llm/providers/operation.ts";
import type { ProviderApi } from "../../llm/providers/llm_provider.ts";
import { invalidRequest } from "./llm_body.ts";
import { checkResponse, type LlmCall, sendAuthorized } from "./llm_call.ts";
import { providerQuery } from "./llm_headers.ts";

const FAMILY = "openai";
const realtimePath = /^[^?]*\/realtime\/*(?:\?|$)/;
/** Parameters that name the model, or the deployment of Azure. */
const modelParameters = ["model", "deployment"];

/** Returns the operation of a request that opens a WebSocket of OpenAI's Realtime API; `undefined` for other requests. */
export function readRealtimeOperation(
  { method, target, upgrade }: LlmCall["request"],
): LlmOperation | undefined {
  return method === "GET" && /^websocket$/i.test(upgrade ?? "") &&
      realtimePath.test(target)
    ? { family: FAMILY, name: "realtime" }
    : undefined;
}

/**
 * Opens a WebSocket at a provider, with the backend's model and the gateway's key.
 * @throws {LlmApiError} `llm_request_invalid` when the query names several models, or the configuration changes fields of bodies.
 */
export async function openRealtime(
  call: LlmCall,
  operation: LlmOperation,
  api: ProviderApi,
): Promise<ResponseMessage> {
  const { target, request } = call;
  if (!target.changes.isEmpty) {
    throw invalidRequest(
      FAMILY,
      "Cannot change the messages of a WebSocket as the configuration of the backend requires",
    );
  }
  checkQuery(request.target);
  const model = modelOf(target, readModel(request.target));
  const path = api.path({ ...target.place, operation, model, streaming: true });
  const response = await sendAuthorized(
    call,
    {
      method: "GET",
      target: path + withModel(request.target, model),
      upgrade: request.upgrade,
    },
    undefined,
  );
  return await checkResponse(call, FAMILY, response);
}

/**
 * Rejects parameters that open something else than a session of the client: with the gateway's key, `call_id` would join a call of
 * anybody.
 */
function checkQuery(target: string): void {
  if (!new URLSearchParams(providerQuery(target)).has("call_id")) return;
  throw invalidRequest(FAMILY, "Cannot join a call through the gateway");
}

/** Reads the model of the query, which names one or none. */
function readModel(target: string): string | undefined {
  const model = readPathModel(target);
  if (model !== undefined) return model;
  const query = new URLSearchParams(providerQuery(target));
  if (!modelParameters.some((name) => query.has(name))) return undefined;
  throw invalidRequest(FAMILY, "The query names several models");
}

function withModel(target: string, model: string | undefined): string {
  const query = new URLSearchParams(providerQuery(target));
  for (const name of modelParameters) query.delete(name);
  if (model !== undefined) query.set("model", model);
  return query.size === 0 ? "" : `?${query}`;
}
