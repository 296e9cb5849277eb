import { isJsonObject } from "../../base/json.ts";
import { JsonSelection, WHOLE } from "../../base/json/json_shape.ts";
import type { RequestMessage } from "../../http/message.ts";
import { readJsonBody } from "./json_body.ts";

const MAX_MODEL_LENGTH = 256;

const requestsOfGemini = {
  requests: { requests: [{ request: { model: WHOLE } }] },
  file_name: WHOLE,
  fileName: WHOLE,
} as const;
const batchOfGemini = {
  model: WHOLE,
  inputConfig: requestsOfGemini,
  input_config: requestsOfGemini,
} as const;
const selection = new JsonSelection({
  model: WHOLE,
  // Anthropic, and Mistral.
  requests: [{ params: { model: WHOLE }, body: { model: WHOLE } }],
  // Requests in files and agents have models that the gateway does not see: OpenAI, Mistral.
  input_file_id: WHOLE,
  input_files: WHOLE,
  agent_id: WHOLE,
  batch: batchOfGemini,
});

/** Members of a batch whose models are elsewhere. */
const references = [
  "input_file_id",
  "input_files",
  "agent_id",
  "file_name",
  "fileName",
];

/** Reads the model of all requests in a batch; `undefined` if there are several, or if the body does not have them all. */
export async function readBatchModel(
  request: RequestMessage,
  maxBytes: number,
  pathModel: string | undefined,
): Promise<string | undefined> {
  const body = await readJsonBody(request, maxBytes, selection);
  if (body === undefined || body === null) return undefined;
  const models = new Set<string | undefined>();
  if (pathModel !== undefined) models.add(pathModel);
  collectModels(body, models);
  const [model] = models;
  return models.size === 1 ? model?.slice(0, MAX_MODEL_LENGTH) : undefined;
}

/** Adds `undefined` for a model that is not known. */
function collectModels(value: unknown, models: Set<string | undefined>): void {
  if (Array.isArray(value)) {
    for (const item of value) collectModels(item, models);
  }
  if (!isJsonObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue;
    if (references.includes(name)) models.add(undefined);
    else if (name === "model") {
      models.add(
        typeof member === "string"
          ? member.replace(/^models\//, "")
          : undefined,
      );
    } else collectModels(member, models);
  }
}
