import { LlmApiError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type {
  LlmFamily,
  ModelsOperation,
} from "../../llm/providers/operation.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import { type LlmCall, sendAuthorized } from "./llm_call.ts";

/** Longer lists of providers are not read. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

/**
 * Lists the models of a provider under the names that clients use, in the form of the client's API: those of the provider, and
 * the aliases. A backend with one model for all requests lists that alone.
 */
export async function listModels(
  call: LlmCall,
  { family, model }: ModelsOperation,
): Promise<ResponseMessage> {
  const { model: only, aliases, provider } = call.target;
  const names = new Set(aliases.keys());
  if (only !== undefined) names.add(only);
  else if (provider.models !== undefined) {
    const response = await fetchList(call, provider.models);
    if (response.status !== 200) return response;
    for (const name of await readNames(response, family)) names.add(name);
  }
  if (model === undefined) {
    return respond(200, writeList(family, [...names], call.target.name));
  }
  if (names.has(model)) {
    return respond(200, writeModel(family, model, call.target.name));
  }
  throw new LlmApiError(
    "llm_path_unknown",
    "downstream",
    `Model "${model}" not found`,
    family,
  );
}

function fetchList(
  call: LlmCall,
  models: NonNullable<LlmCall["target"]["provider"]["models"]>,
): Promise<ResponseMessage> {
  const { request, target: { place } } = call;
  const headers = request.headers.copy();
  headers.set("accept-encoding", "identity");
  return sendAuthorized(
    { ...call, request: { ...request, headers } },
    { method: "GET", target: models(place).path },
    undefined,
  );
}

/** Reads the names of the models of any provider's list. */
async function readNames(
  response: ResponseMessage,
  form: LlmFamily,
): Promise<readonly string[]> {
  const bytes = await peekBody(response, MAX_LIST_BYTES);
  const list = bytes && parseJson(new TextDecoder().decode(bytes));
  const items = isJsonObject(list) ? list["data"] ?? list["models"] : undefined;
  if (!Array.isArray(items)) {
    response.body?.cancel("no list");
    throw new LlmApiError(
      "llm_response_invalid",
      "upstream",
      "The provider did not return a list of models",
      form,
    );
  }
  return items.filter(isJsonObject).flatMap(nameOf);
}

function nameOf(model: JsonObject): readonly string[] {
  const name = stringMember(model, "id") ?? stringMember(model, "name");
  return name === undefined ? [] : [name.replace(/^models\//, "")];
}

function writeList(
  family: LlmFamily,
  names: readonly string[],
  owner: string,
): unknown {
  const items = names.map((name) => writeModel(family, name, owner));
  if (family === "gemini") return { models: items };
  if (family === "openai") return { object: "list", data: items };
  return {
    data: items,
    has_more: false,
    first_id: names[0] ?? null,
    last_id: names.at(-1) ?? null,
  };
}

function writeModel(family: LlmFamily, id: string, owner: string): unknown {
  if (family === "gemini") return { name: `models/${id}`, displayName: id };
  if (family === "anthropic") {
    return {
      type: "model",
      id,
      display_name: id,
      // Required by SDKs; not every provider has it.
      created_at: "1970-01-01T00:00:00Z",
    };
  }
  return { id, object: "model", created: 0, owned_by: owner.toLowerCase() };
}

function respond(status: number, body: unknown): ResponseMessage {
  const headers = HeaderList.from([["content-type", "application/json"]]);
  return { status, headers, body: textBody(JSON.stringify(body)) };
}
