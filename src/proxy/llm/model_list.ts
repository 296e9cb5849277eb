import { LlmApiError } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import { textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type {
  LlmFamily,
  ModelsOperation,
} from "../../llm/providers/operation.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import {
  checkResponse,
  type LlmCall,
  type ModelSource,
  sendAuthorized,
} from "./llm_call.ts";

/** Longer lists of providers are not read. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
const MAX_LIST_VALUES = 100_000;

/**
 * Lists models under the names that clients use, in the form of the client's API: those of the providers, and the aliases. A backend
 * with one model for all requests lists that alone. A provider that fails is left out, unless all do.
 */
export async function listModels(
  call: LlmCall,
  { family, model }: ModelsOperation,
): Promise<ResponseMessage> {
  const lists = await Promise.allSettled(
    call.models().map((source) => namesOf(call, source, family)),
  );
  const [failed] = lists.filter(({ status }) => status === "rejected");
  if (failed?.status === "rejected" && lists.every((each) => !hasNames(each))) {
    throw failed.reason;
  }
  const owners = new Map<string, string>();
  for (const list of lists) {
    if (!hasNames(list)) continue;
    for (const name of list.value.names) {
      if (!owners.has(name)) owners.set(name, list.value.owner);
    }
  }
  if (model === undefined) return respond(writeList(family, owners));
  const owner = owners.get(model);
  if (owner !== undefined) return respond(writeModel(family, model, owner));
  throw new LlmApiError(
    "llm_path_unknown",
    "downstream",
    `Model "${model}" not found`,
    family,
  );
}

interface OwnedNames {
  readonly owner: string;
  readonly names: readonly string[];
}

function hasNames(
  list: PromiseSettledResult<OwnedNames>,
): list is PromiseFulfilledResult<OwnedNames> {
  return list.status === "fulfilled";
}

async function namesOf(
  call: LlmCall,
  { target, destination, serves }: ModelSource,
  form: LlmFamily,
): Promise<OwnedNames> {
  const { model, aliases, provider, name: owner } = target;
  const names = model !== undefined
    ? [model]
    : provider.models === undefined
    ? []
    : await fetchNames(call, { target, destination }, form);
  return { owner, names: [...aliases.keys(), ...names].filter(serves) };
}

async function fetchNames(
  request: LlmCall,
  { target, destination }: Pick<ModelSource, "target" | "destination">,
  form: LlmFamily,
): Promise<readonly string[]> {
  await destination.prepare();
  const upstream = destination.choose([], undefined, true);
  const call = { ...request, target, upstream };
  const { provider, place } = target;
  const response = await sendAuthorized(
    call,
    {
      method: "GET",
      target: provider.models?.(place).path ?? "",
      isOwn: true,
    },
    undefined,
  );
  await checkResponse(call, form, response);
  return await readNames(response, form);
}

/** Reads the names of the models of any provider's list. */
async function readNames(
  response: ResponseMessage,
  form: LlmFamily,
): Promise<readonly string[]> {
  const bytes = await peekBody(response, MAX_LIST_BYTES);
  const list = bytes &&
    new BoundedJson(MAX_LIST_VALUES).parse(new TextDecoder().decode(bytes));
  const items = isJsonObject(list) ? list["data"] ?? list["models"] : undefined;
  if (response.status !== 200 || !Array.isArray(items)) {
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
  owners: ReadonlyMap<string, string>,
): unknown {
  const names = [...owners.keys()];
  const items = [...owners].map(([name, owner]) =>
    writeModel(family, name, owner)
  );
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

function respond(body: unknown): ResponseMessage {
  const headers = HeaderList.from([["content-type", "application/json"]]);
  return { status: 200, headers, body: textBody(JSON.stringify(body)) };
}
