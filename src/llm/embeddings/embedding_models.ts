import type { JsonObject } from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import {
  countOf,
  objectOf,
  objectsOf,
  unknownForm,
} from "../translation/conversation/answer_fields.ts";
import {
  type Losses,
  noCounterpart,
} from "../translation/conversation/losses.ts";
import type { EmbeddingsRequest, Purpose } from "./embeddings_request.ts";

/** Embeddings of some texts. */
export interface EmbeddingsAnswer {
  readonly embeddings: readonly (readonly number[])[];
  /** 0 if the answer does not have them: Bedrock has them in a header field. */
  readonly tokens: number;
}

/** Models with one form of requests for embeddings. */
export interface EmbeddingModel {
  readonly operation: LlmOperation;
  /** Texts that one call can have. */
  readonly batch: number;
  write(
    inputs: readonly string[],
    request: Omit<EmbeddingsRequest, "inputs">,
    losses: Losses,
  ): JsonObject;
  /** @throws {UnknownAnswerError} If the answer has another form. */
  read(answer: JsonObject): EmbeddingsAnswer;
}

/** Names of the purposes. */
const purposes: Readonly<
  Record<
    Purpose,
    { readonly nova: string; readonly cohere: string; readonly vertex: string }
  >
> = {
  query: {
    nova: "GENERIC_RETRIEVAL",
    cohere: "search_query",
    vertex: "RETRIEVAL_QUERY",
  },
  document: {
    nova: "GENERIC_INDEX",
    cohere: "search_document",
    vertex: "RETRIEVAL_DOCUMENT",
  },
  similarity: {
    nova: "GENERIC_INDEX",
    cohere: "search_document",
    vertex: "SEMANTIC_SIMILARITY",
  },
  classification: {
    nova: "CLASSIFICATION",
    cohere: "classification",
    vertex: "CLASSIFICATION",
  },
  clustering: {
    nova: "CLUSTERING",
    cohere: "clustering",
    vertex: "CLUSTERING",
  },
};

/** Names what a model without purposes does not get. */
function noteLosses(
  { purpose, title }: Pick<EmbeddingsRequest, "purpose" | "title">,
  losses: Losses,
): void {
  if (purpose !== undefined) losses.drop("taskType");
  if (title !== undefined) losses.drop("title");
}

const invoke = { family: "bedrock", name: "invoke" } as const;

/** Amazon's Titan. */
const titan: EmbeddingModel = {
  operation: invoke,
  batch: 1,
  write([inputText], { dimensions, ...request }, losses) {
    noteLosses(request, losses);
    return { inputText, ...(dimensions !== undefined && { dimensions }) };
  },
  read: (answer) => ({
    embeddings: [numbersOf(answer["embedding"])],
    tokens: countOf(answer, "inputTextTokenCount"),
  }),
};

/** Amazon's Nova. */
const nova: EmbeddingModel = {
  operation: invoke,
  batch: 1,
  write: ([value], { dimensions, purpose = "document" }) => ({
    taskType: "SINGLE_EMBEDDING",
    singleEmbeddingParams: {
      embeddingPurpose: purposes[purpose].nova,
      ...(dimensions !== undefined && { embeddingDimension: dimensions }),
      text: { value, truncationMode: "NONE" },
    },
  }),
  read: (answer) => ({
    embeddings: objectsOf(answer, "embeddings")
      .map(({ embedding }) => numbersOf(embedding)),
    tokens: 0,
  }),
};

/** Cohere's models at Bedrock; version 4 has embeddings by their type. */
const cohere: EmbeddingModel = {
  operation: invoke,
  batch: 96,
  write: (texts, { dimensions, purpose = "document" }) => ({
    texts,
    input_type: purposes[purpose].cohere,
    truncate: "NONE",
    ...(dimensions !== undefined && { output_dimension: dimensions }),
  }),
  read(answer) {
    const { embeddings } = answer;
    const list = Array.isArray(embeddings)
      ? embeddings
      : objectOf(answer, "embeddings")["float"];
    if (!Array.isArray(list)) throw unknownForm("no embeddings");
    return { embeddings: list.map(numbersOf), tokens: 0 };
  },
};

/** Models of Google at Vertex. */
const vertex: EmbeddingModel = {
  operation: { family: "gemini", name: "predict" },
  batch: 100,
  write: (inputs, { dimensions, purpose, title }) => ({
    instances: inputs.map((content) => ({
      content,
      ...(purpose && { task_type: purposes[purpose].vertex }),
      ...(title && { title }),
    })),
    parameters: {
      autoTruncate: false,
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    },
  }),
  read(answer) {
    const found = objectsOf(answer, "predictions")
      .map((prediction) => objectOf(prediction, "embeddings"));
    const counts = found.map((each) =>
      countOf(objectOf(each, "statistics"), "token_count")
    );
    return {
      embeddings: found.map(({ values }) => numbersOf(values)),
      tokens: counts.reduce((sum, count) => sum + count, 0),
    };
  },
};

/** Models of OpenAI and compatible servers. */
const openAi: EmbeddingModel = {
  operation: { family: "openai", name: "embeddings" },
  batch: 2048,
  write(input, { model, dimensions, ...request }, losses) {
    noteLosses(request, losses);
    return {
      ...{ model, input, encoding_format: "float" },
      ...(dimensions !== undefined && { dimensions }),
    };
  },
  read(answer) {
    const found = objectsOf(answer, "data").toSorted((one, other) =>
      countOf(one, "index") - countOf(other, "index")
    );
    return {
      embeddings: found.map(({ embedding }) => numbersOf(embedding)),
      tokens: countOf(objectOf(answer, "usage"), "prompt_tokens"),
    };
  },
};

const bedrock: readonly (readonly [RegExp, EmbeddingModel])[] = [
  [/titan-embed-text/, titan],
  [/nova.*embed/, nova],
  [/cohere\.embed/, cohere],
];

/** Reports whether embeddings are translated to an API. */
export function hasEmbeddings(family: LlmFamily): boolean {
  return family !== "anthropic";
}

/**
 * Returns how a model is asked for embeddings.
 * @throws {UntranslatableError} If it has none that are known.
 */
export function embeddingModel(
  family: LlmFamily,
  { model }: Pick<EmbeddingsRequest, "model">,
): EmbeddingModel {
  const found = family === "bedrock"
    ? bedrock.find(([pattern]) => pattern.test(model))?.[1]
    : family === "openai"
    ? openAi
    : vertex;
  if (found === undefined || !hasEmbeddings(family)) {
    throw noCounterpart(`model: ${model.slice(0, 100)}`);
  }
  // They take one text at a time; 2026-08-22.
  return found === vertex && model.startsWith("gemini-embedding")
    ? { ...found, batch: 1 }
    : found;
}

function numbersOf(value: unknown): readonly number[] {
  const isList = Array.isArray(value) &&
    value.every((each) => typeof each === "number");
  if (!isList) throw unknownForm("an embedding that is no list of numbers");
  return value;
}
