import type { JsonObject } from "../../base/json.ts";
import { FieldReader } from "../translation/conversation/field_reader.ts";
import {
  type Losses,
  malformed,
  noCounterpart,
  UntranslatableError,
} from "../translation/conversation/losses.ts";

/** Limit of the texts of a request, which is OpenAI's. */
export const MAX_INPUTS = 2048;

/** Use of embeddings, which some models make different ones for. */
export type Purpose =
  | "query"
  | "document"
  | "similarity"
  | "classification"
  | "clustering";

/** A request for the embeddings of texts. */
export interface EmbeddingsRequest {
  readonly model: string;
  readonly inputs: readonly string[];
  readonly dimensions: number | undefined;
  readonly purpose?: Purpose | undefined;
  /** Title of the document that a text is from. */
  readonly title?: string | undefined;
  /** Embeddings are floats in Base64, as OpenAI's SDKs want them, rather than lists of numbers. */
  readonly isBase64: boolean;
}

/** Reads a request of OpenAI's embeddings. @throws {UntranslatableError} */
export function readEmbeddings(
  body: JsonObject,
  losses: Losses,
): EmbeddingsRequest {
  const fields = new FieldReader(body, losses);
  const format = fields.text("encoding_format") ?? "float";
  if (format !== "float" && format !== "base64") {
    throw noCounterpart(`encoding_format: ${format.slice(0, 32)}`);
  }
  const request = {
    model: fields.required("model", fields.text("model")),
    inputs: readInputs(fields.required("input", fields.value("input"))),
    dimensions: fields.number("dimensions"),
    isBase64: format === "base64",
  };
  fields.hint("user");
  fields.end();
  return request;
}

function readInputs(input: unknown): readonly string[] {
  const inputs: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (inputs.length === 0 || inputs.length > MAX_INPUTS) {
    throw new UntranslatableError(`"input" must have 1 to ${MAX_INPUTS} texts`);
  }
  return inputs.map((text) => {
    // Numbers are tokens, which only the provider of the model knows.
    if (typeof text === "string") return text;
    throw malformed("input", "a string or a list of strings");
  });
}

/** Writes the answer in OpenAI's form. @param tokens Of all texts. */
export function writeEmbeddings(
  { model, isBase64 }: EmbeddingsRequest,
  embeddings: readonly (readonly number[])[],
  tokens: number,
): JsonObject {
  return {
    object: "list",
    data: embeddings.map((embedding, index) => ({
      object: "embedding",
      index,
      embedding: isBase64 ? toBase64(embedding) : embedding,
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Encodes numbers as 32-bit floats, the lowest byte first. */
function toBase64(numbers: readonly number[]): string {
  const bytes = new Uint8Array(numbers.length * Float32Array.BYTES_PER_ELEMENT);
  const view = new DataView(bytes.buffer);
  numbers.forEach((number, index) =>
    view.setFloat32(index * Float32Array.BYTES_PER_ELEMENT, number, true)
  );
  return bytes.toBase64();
}
