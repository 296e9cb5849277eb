import type { JsonObject } from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import {
  objectsOf,
  unknownForm,
} from "../translation/conversation/answer_fields.ts";
import { noCounterpart } from "../translation/conversation/losses.ts";
import type { RankedDocument, RerankRequest } from "./rerank_request.ts";

/** Models with one form of requests to rank documents. */
export interface RerankModel {
  readonly operation: LlmOperation;
  write(request: RerankRequest): JsonObject;
  /** @throws {UnknownAnswerError} If the answer has another form. */
  read(answer: JsonObject, request: RerankRequest): readonly RankedDocument[];
  /** Returns the number of searches that the provider bills. */
  searches(request: RerankRequest): number;
}

/** Documents of a search; prices are for so many. */
const DOCUMENTS_PER_SEARCH = 100;
/** Bedrock bills parts of 512 tokens, each with the query, as documents; a token has about four characters. */
const CHARACTERS_PER_DOCUMENT = 512 * 4;

/** Cohere's and Amazon's models at Bedrock. */
const bedrock: RerankModel = {
  operation: { family: "bedrock", name: "invoke" },
  write: ({ model, query, documents, topN }) => ({
    ...{ query, documents, top_n: topN ?? documents.length },
    ...(model.includes("cohere") && { api_version: 2 }),
  }),
  read: (answer, request) =>
    objectsOf(answer, "results").map(({ index, relevance_score: score }) =>
      rankedDocument(index, score, request)
    ),
  searches({ query, documents }) {
    const perPart = Math.max(
      CHARACTERS_PER_DOCUMENT / 2,
      CHARACTERS_PER_DOCUMENT - query.length,
    );
    const parts = documents.map(({ length }) =>
      Math.max(1, Math.ceil(length / perPart))
    );
    return searchesFor(parts.reduce((sum, count) => sum + count, 0));
  },
};

/** Google's ranking API. */
const google: RerankModel = {
  operation: { family: "gemini", name: "rank" },
  write: ({ model, query, documents, topN }) => ({
    ...{ model, query },
    records: documents.map((content, index) => ({ id: `${index}`, content })),
    topN: topN ?? documents.length,
    ignoreRecordDetailsInResponse: true,
  }),
  read: (answer, request) =>
    objectsOf(answer, "records").map(({ id, score }) =>
      rankedDocument(Number(id), score, request)
    ),
  searches: ({ documents }) => searchesFor(documents.length),
};

function searchesFor(documents: number): number {
  return Math.ceil(documents / DOCUMENTS_PER_SEARCH);
}

function rankedDocument(
  index: unknown,
  score: unknown,
  { documents }: RerankRequest,
): RankedDocument {
  const isIndex = typeof index === "number" && documents[index] !== undefined;
  if (!isIndex || typeof score !== "number") {
    throw unknownForm("a document that was not sent, or has no score");
  }
  return { index, score };
}

/** Reports whether requests to rank documents are translated to an API. */
export function hasRerank(family: LlmFamily): boolean {
  return family === "bedrock" || family === "gemini";
}

/**
 * Returns how a model ranks documents.
 * @throws {UntranslatableError} If it does not.
 */
export function rerankModel(
  family: LlmFamily,
  { model }: Pick<RerankRequest, "model">,
): RerankModel {
  if (family === "bedrock" && /rerank/.test(model)) return bedrock;
  if (family === "gemini" && /rank/.test(model)) return google;
  throw noCounterpart(`model: ${model.slice(0, 100)}`);
}
