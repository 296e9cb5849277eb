import type { JsonObject } from "../../base/json.ts";
import type { LlmFamily, LlmOperation } from "../providers/operation.ts";
import type { Losses } from "../translation/conversation/losses.ts";
import {
  type EmbeddingsRequest,
  readEmbeddings,
  writeEmbeddings,
} from "./embeddings_request.ts";
import {
  readGeminiBatch,
  readGeminiEmbedding,
  writeGeminiBatch,
  writeGeminiEmbedding,
} from "./gemini_embeddings.ts";

/** An operation with which clients get embeddings. */
export interface ClientEmbeddings {
  readonly family: LlmFamily;
  /** Name of the field with the texts. */
  readonly inputs: string;
  /** @throws {UntranslatableError} */
  read(body: JsonObject, losses: Losses): EmbeddingsRequest;
  /** Writes the answer. @param tokens Of all texts. */
  write(
    request: EmbeddingsRequest,
    embeddings: readonly (readonly number[])[],
    tokens: number,
  ): JsonObject;
}

/** The operations, by their names. */
export const clientEmbeddings: ReadonlyMap<string, ClientEmbeddings> = new Map([
  ["embeddings", {
    family: "openai",
    inputs: "input",
    read: readEmbeddings,
    write: writeEmbeddings,
  }],
  ["embedContent", {
    family: "gemini",
    inputs: "content",
    read: readGeminiEmbedding,
    write: writeGeminiEmbedding,
  }],
  ["batchEmbedContents", {
    family: "gemini",
    inputs: "requests",
    read: readGeminiBatch,
    write: writeGeminiBatch,
  }],
]);

/** Reports whether an operation is one with which clients get embeddings. */
export function isEmbeddings({ family, name }: LlmOperation): boolean {
  return clientEmbeddings.get(name)?.family === family;
}
