import type { JsonObject } from "../../base/json.ts";
import { FieldReader } from "../translation/conversation/field_reader.ts";
import {
  type Losses,
  noCounterpart,
  UntranslatableError,
} from "../translation/conversation/losses.ts";
import {
  type EmbeddingsRequest,
  MAX_INPUTS,
  type Purpose,
} from "./embeddings_request.ts";

/** Purposes of Gemini. */
const purposes: ReadonlyMap<string, Purpose> = new Map([
  ["RETRIEVAL_QUERY", "query"],
  ["QUESTION_ANSWERING", "query"],
  ["FACT_VERIFICATION", "query"],
  ["CODE_RETRIEVAL_QUERY", "query"],
  ["RETRIEVAL_DOCUMENT", "document"],
  ["SEMANTIC_SIMILARITY", "similarity"],
  ["CLASSIFICATION", "classification"],
  ["CLUSTERING", "clustering"],
]);

/** Reads a request of Gemini's `embedContent`. @throws {UntranslatableError} */
export function readGeminiEmbedding(
  body: JsonObject,
  losses: Losses,
): EmbeddingsRequest {
  const fields = new FieldReader(body, losses);
  const model = fields.required("model", fields.text("model"));
  return { model, isBase64: false, ...readOne(fields) };
}

/** Reads a request of Gemini's `batchEmbedContents`, whose parts must agree in everything but the text. @throws {UntranslatableError} */
export function readGeminiBatch(
  body: JsonObject,
  losses: Losses,
): EmbeddingsRequest {
  const fields = new FieldReader(body, losses);
  const model = fields.required("model", fields.text("model"));
  const requests = fields.objects("requests");
  fields.end();
  const read = requests.map((each) => {
    // The path has it, too.
    each.ignore("model");
    return readOne(each);
  });
  const [first] = read;
  if (first === undefined || read.length > MAX_INPUTS) {
    throw new UntranslatableError(
      `"requests" must have 1 to ${MAX_INPUTS} texts`,
    );
  }
  const settings = settingsOf(first);
  if (read.some((each) => settingsOf(each) !== settings)) {
    throw new UntranslatableError(
      '"requests" must have the same "taskType", "title" and "outputDimensionality" at the provider of this model',
    );
  }
  const inputs = read.flatMap((each) => each.inputs);
  return { ...first, model, isBase64: false, inputs };
}

type One = Omit<EmbeddingsRequest, "model" | "isBase64">;

function settingsOf({ inputs: _, ...settings }: One): string {
  return JSON.stringify(settings);
}

function readOne(fields: FieldReader): One {
  const content = fields.required("content", fields.object("content"));
  content.ignore("role");
  const texts = content.objects("parts").map((part) => {
    const text = part.required("text", part.text("text"));
    part.end();
    return text;
  });
  content.end();
  const type = fields.text("taskType");
  const purpose = type === undefined ? undefined : purposes.get(type);
  if (type !== undefined && purpose === undefined) {
    fields.accept("taskType", "TASK_TYPE_UNSPECIFIED");
  }
  const dimensions = fields.number("outputDimensionality");
  const title = fields.text("title");
  fields.ignore("autoTruncate");
  fields.end();
  if (texts.length === 0) throw noCounterpart(fields.at("content.parts"));
  return { inputs: [texts.join("\n")], dimensions, purpose, title };
}

/** Writes the answer to `embedContent`. */
export function writeGeminiEmbedding(
  _request: EmbeddingsRequest,
  [values = []]: readonly (readonly number[])[],
  tokens: number,
): JsonObject {
  return { embedding: { values }, ...usageOf(tokens) };
}

/** Writes the answer to `batchEmbedContents`. */
export function writeGeminiBatch(
  _request: EmbeddingsRequest,
  embeddings: readonly (readonly number[])[],
  tokens: number,
): JsonObject {
  const written = embeddings.map((values) => ({ values }));
  return { embeddings: written, ...usageOf(tokens) };
}

function usageOf(tokens: number): JsonObject {
  if (tokens === 0) return {};
  return {
    usageMetadata: { promptTokenCount: tokens, totalTokenCount: tokens },
  };
}
