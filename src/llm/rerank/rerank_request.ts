import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { FieldReader } from "../translation/conversation/field_reader.ts";
import {
  type Losses,
  malformed,
  UntranslatableError,
} from "../translation/conversation/losses.ts";

/** Limit of the documents of a request, which is Cohere's. */
const MAX_DOCUMENTS = 1000;

/** A request to rank documents by their relevance for a query. */
export interface RerankRequest {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly string[];
  /** Number of documents that the answer has; all of them by default. */
  readonly topN: number | undefined;
  /** The answer has the documents. */
  readonly returnsDocuments: boolean;
}

/** A document in the answer. */
export interface RankedDocument {
  readonly index: number;
  /** From 0 to 1. */
  readonly score: number;
}

/** Reads a request in the form of Cohere, Jina and others after them. @throws {UntranslatableError} */
export function readRerank(body: JsonObject, losses: Losses): RerankRequest {
  const fields = new FieldReader(body, losses);
  const documents = fields.required("documents", fields.list("documents"));
  if (documents.length === 0 || documents.length > MAX_DOCUMENTS) {
    throw new UntranslatableError(
      `"documents" must have 1 to ${MAX_DOCUMENTS} documents`,
    );
  }
  const request = {
    model: fields.required("model", fields.text("model")),
    query: fields.required("query", fields.text("query")),
    documents: documents.map(readDocument),
    topN: fields.number("top_n"),
    returnsDocuments: fields.boolean("return_documents") ?? false,
  };
  const { topN = 1 } = request;
  if (!Number.isInteger(topN) || topN < 1) {
    throw malformed("top_n", "a positive integer");
  }
  fields.hint(
    "max_tokens_per_doc",
    "max_chunks_per_doc",
    "truncation",
    "priority",
    "user",
  );
  fields.end();
  return request;
}

function readDocument(document: unknown, index: number): string {
  const text = isJsonObject(document) && Object.keys(document).length === 1
    ? document["text"]
    : document;
  if (typeof text === "string") return text;
  throw malformed(`documents[${index}]`, 'a string or an object with "text"');
}

/** Writes the answer in Cohere's form, the most relevant documents first. @param searches What the provider bills. */
export function writeRerank(
  { model, documents, topN, returnsDocuments }: RerankRequest,
  ranked: readonly RankedDocument[],
  { id, searches }: { readonly id: string; readonly searches: number },
): JsonObject {
  const results = ranked.toSorted((one, other) => other.score - one.score)
    .slice(0, topN ?? documents.length).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(returnsDocuments && { document: { text: documents[index] ?? "" } }),
    }));
  return {
    ...{ id, model, results },
    meta: {
      api_version: { version: "2" },
      billed_units: { search_units: searches },
    },
  };
}
