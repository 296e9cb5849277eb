import type { ImageSize } from "../format/image_size.ts";
import { measureRequest, type RequestMeasure } from "./request_measure.ts";
import { MAX_TOKEN_COUNT } from "../usage/usage_report.ts";

/** Text of unknown form has about this many bytes per token. */
const BYTES_PER_TOKEN = 4;
/** Shorter requests are kept, and measured when an estimate is needed; most never are. */
const MAX_KEPT_BYTES = 16 * 1024;

/** Estimates the input of a request. */
export class InputEstimate {
  #body: Uint8Array | undefined;
  #measure: RequestMeasure | undefined;
  readonly #bytes: number;

  private constructor(body: Uint8Array | undefined, bytes: number) {
    this.#body = body;
    this.#bytes = bytes;
  }

  static ofBody(body: Uint8Array): InputEstimate {
    const estimate = new InputEstimate(body, body.length);
    if (body.length > MAX_KEPT_BYTES) estimate.#read();
    return estimate;
  }

  /** Estimates a body that cannot be read. */
  static ofBytes(bytes: number): InputEstimate {
    return new InputEstimate(undefined, bytes);
  }

  /** Returns the estimated tokens of a model; of any, if it is not known. */
  tokens(model: string | undefined): number {
    if (this.#bytes === 0) return 0;
    const measure = this.#read();
    const tokens = measure === undefined
      ? this.#bytes / BYTES_PER_TOKEN
      : weigh(measure, model ?? "");
    return Math.min(Math.ceil(tokens), MAX_TOKEN_COUNT);
  }

  #read(): RequestMeasure | undefined {
    if (this.#body !== undefined) this.#measure = measureRequest(this.#body);
    this.#body = undefined;
    return this.#measure;
  }
}

/** Tokens of the parts of a request. */
interface Weights {
  readonly request: number;
  readonly message: number;
  readonly call: number;
  /** Instructions that a provider adds if there are tools. */
  readonly tools: number;
  /** Added if the request sets up reasoning. */
  readonly reasoning: number;
  readonly textByte: number;
  /** Of definitions, which providers rewrite in a shorter form. */
  readonly schemaByte: number;
}

/** Fitted to what providers report for recorded requests, and a fifth more: a budget must hold. */
const families: readonly (readonly [model: RegExp, weights: Weights])[] = [
  [/claude/, {
    ...{ request: 12, message: 8, call: 45, tools: 480, reasoning: 25 },
    ...{ textByte: 0.27, schemaByte: 0.36 },
  }],
  [/gpt-oss/, {
    ...{ request: 75, message: 5, call: 55, tools: 0, reasoning: 0 },
    ...{ textByte: 0.22, schemaByte: 0.45 },
  }],
  [/llama-?[34](?:\D|$)|minimax/i, {
    ...{ request: 32, message: 6, call: 30, tools: 120, reasoning: 0 },
    ...{ textByte: 0.27, schemaByte: 0.25 },
  }],
  [/nova/, {
    ...{ request: 4, message: 5, call: 20, tools: 600, reasoning: 0 },
    ...{ textByte: 0.26, schemaByte: 0.2 },
  }],
  [/gpt|gemini|^(?:.*\/)?o\d/, {
    ...{ request: 6, message: 5, call: 12, tools: 20, reasoning: 0 },
    ...{ textByte: 0.26, schemaByte: 0.15 },
  }],
];
const others: Weights = {
  ...{ request: 4, message: 6, call: 30, tools: 40, reasoning: 0 },
  ...{ textByte: 0.27, schemaByte: 0.25 },
};

/** Text with fewer blanks is no prose: code, tables, Base64. */
const BYTES_PER_BLANK = 16;
const MIN_DENSE_BYTES = 200;
const DENSE_TEXT_BYTE = 0.36;
const TOKENS_PER_LITERAL = 0.5;
/** A page, a short recording, or an image in an unknown format. */
const TOKENS_PER_MEDIUM = 1000;

function weigh(measure: RequestMeasure, model: string): number {
  const { text, blanks, schema, messages, calls, literals } = measure;
  const weights = families.find(([pattern]) => pattern.test(model))?.[1] ??
    others;
  const isDense = text > MIN_DENSE_BYTES && blanks * BYTES_PER_BLANK < text;
  return weights.request + messages * weights.message + calls * weights.call +
    (measure.hasTools ? weights.tools : 0) +
    (measure.hasReasoning ? weights.reasoning : 0) +
    text * (isDense ? DENSE_TEXT_BYTE : weights.textByte) +
    schema * weights.schemaByte + literals * TOKENS_PER_LITERAL +
    measure.media * TOKENS_PER_MEDIUM +
    measure.images.reduce((sum, image) => sum + imageTokens(image, model), 0);
}

/** Models of OpenAI that bill images by tiles; others bill patches. */
const tiled = /gpt-4o|gpt-4\.1$|gpt-4\.1-\d|gpt-4\.5|^(?:.*\/)?o[13](?:-|$)/;
const TILE_PIXELS = 512;
const TILE_TOKENS = 170;
const TILED_IMAGE_TOKENS = 85;
/** Larger images are scaled down to these sides first. */
const [LONG_SIDE, SHORT_SIDE] = [2048, 768];
const PATCH_PIXELS = 32;
const MAX_PATCHES = 1536;
const [PATCH_TOKENS, NANO_PATCH_TOKENS] = [1.7, 2.5];
const PIXELS_PER_TOKEN = 750;
const MAX_IMAGE_TOKENS = 1600;

/** Applies the formulas that OpenAI and Anthropic document; that of Anthropic is close to those of most others. */
function imageTokens({ width, height }: ImageSize, model: string): number {
  if (!/gpt-[45]|^(?:.*\/)?o\d/.test(model)) {
    return Math.min(width * height / PIXELS_PER_TOKEN, MAX_IMAGE_TOKENS);
  }
  if (!tiled.test(model)) {
    const patches = Math.ceil(width / PATCH_PIXELS) *
      Math.ceil(height / PATCH_PIXELS);
    return Math.min(patches, MAX_PATCHES) *
      (model.includes("nano") ? NANO_PATCH_TOKENS : PATCH_TOKENS);
  }
  const scale = Math.min(
    1,
    LONG_SIDE / Math.max(width, height),
    SHORT_SIDE / Math.min(width, height),
  );
  const tiles = Math.ceil(width * scale / TILE_PIXELS) *
    Math.ceil(height * scale / TILE_PIXELS);
  return TILED_IMAGE_TOKENS + tiles * TILE_TOKENS;
}
