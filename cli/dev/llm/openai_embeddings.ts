import { tokenize } from "./answer.ts";
import { type Call, CREATED_AT, type Reply } from "./dialect.ts";
import { openAi } from "./openai.ts";

const DEFAULT_DIMENSIONS = 256;

/** `POST /v1/embeddings`. */
export function createEmbeddings({ fields }: Call): Reply {
  const model = fields.text("model");
  const input = fields.optional("input");
  if (input === undefined) throw openAi.missingField("input");
  const texts = (Array.isArray(input) ? input : [input]).map(String);
  const dimensions = fields.count("dimensions") ?? DEFAULT_DIMENSIONS;
  const encode = fields.optional("encoding_format") === "base64"
    ? toBase64
    : toNumbers;

  const data = texts.map((text, index) => ({
    object: "embedding",
    index,
    embedding: encode(embed(text, dimensions)),
  }));
  const tokens = texts.reduce((sum, text) => sum + tokenize(text).length, 0);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return { json: { object: "list", data, model, usage } };
}

/** `GET /v1/models`. */
export function listModels(): Reply {
  const data = ["playground-large", "playground-small"].map((id) => ({
    id,
    object: "model",
    created: CREATED_AT,
    owned_by: "playground",
  }));
  return { json: { object: "list", data } };
}

/** Returns a vector of length 1 that depends only on the text, on each of its characters. */
function embed(text: string, dimensions: number): Float32Array {
  let state = 2166136261;
  const mix = (value: number) => state = Math.imul(state ^ value, 16777619);
  for (const character of text) mix(character.codePointAt(0) ?? 0);
  const vector = Array.from({ length: dimensions }, (_, index) => mix(index));
  const length = Math.hypot(...vector) || 1;
  return Float32Array.from(vector, (value) => value / length);
}

function toNumbers(vector: Float32Array): number[] {
  return [...vector];
}

function toBase64(vector: Float32Array): string {
  return new Uint8Array(vector.buffer).toBase64();
}
