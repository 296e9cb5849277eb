import { Buffer } from "node:buffer";
import { type ImageSize, readImageSize } from "../format/image_size.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const BLANK = 0x20;
const U = 0x75;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const NUL = 0;

const MIN_MEDIA_BYTES = 2048;
const SAMPLE_BYTES = 256;
/** Characters of Base64 in which the size of an image is searched. */
const IMAGE_HEAD_BYTES = 64 * 1024;
const dataUrl = /^data:[\w.+/;=-]*,/;
const base64 = /^[\w+/=-]*$/;

/** Members that are looked up: the strings of further ones count as text, whatever they are. */
const MAX_KEYS = 30_000;
/** Longer names are those of parameters. */
const MAX_KEY_BYTES = 26;
/** Members with a meaning for the estimate, under the names of all providers. Strings of those with the kind `format` are no text. */
const names = {
  format:
    "type model id object encrypted_content signature thoughtSignature thought_signature redactedContent status phase effort format mediaType media_type mimeType mime_type detail ttl service_tier tool_choice mode previous_response_id prompt_cache_key safety_identifier user item_id",
  schema:
    "response_format json_schema schema responseSchema response_schema responseJsonSchema",
  tools: "tools functions toolConfig tool_config",
  reasoning: "thinking reasoning reasoning_config reasoning_effort",
  message: "role",
  call: "arguments args tool_use_id toolResult",
  media: "url image_url data bytes file_data image audio video b64_json",
};
const kinds: ReadonlyMap<string, string> = new Map(
  Object.entries(names).flatMap(([kind, members]) =>
    members.split(" ").map((name) => [name, kind] as const)
  ),
);

/** Content of a request in JSON, by which its tokens are estimated. */
export interface RequestMeasure {
  /** Bytes of strings that a model reads; an escape counts as one, or three with a code. */
  readonly text: number;
  /** Blanks in the text. */
  readonly blanks: number;
  /** Values that are neither strings nor objects. */
  readonly literals: number;
  /** Bytes of definitions of tools, and of schemas of the response. */
  readonly schema: number;
  readonly hasTools: boolean;
  readonly hasReasoning: boolean;
  readonly messages: number;
  /** Earlier calls of tools. */
  readonly calls: number;
  readonly images: readonly ImageSize[];
  /** Other media in Base64. */
  readonly media: number;
}

/** Measures a request in one pass, in bounded memory; a body that is not JSON is text. */
export function measureRequest(body: Uint8Array): RequestMeasure {
  return new RequestScan(body).run();
}

/** Images that are measured; further ones have the size of the last. */
const MAX_IMAGES = 1000;

class RequestScan {
  readonly #body: Buffer;
  #text = 0;
  #blanks = 0;
  #literals = 0;
  #schema = 0;
  #hasTools = false;
  #hasReasoning = false;
  #messages = 0;
  #calls = 0;
  readonly #images: ImageSize[] = [];
  #media = 0;
  /** Kind of the latest member. */
  #kind: string | undefined;
  #keys = 0;
  #depth = 0;
  /** Depth and place at which a definition begins; 0 outside. */
  #schemaDepth = 0;
  #schemaStart = 0;

  constructor(body: Uint8Array) {
    this.#body = Buffer.from(body.buffer, body.byteOffset, body.length);
  }

  run(): RequestMeasure {
    const body = this.#body;
    const first = firstByte(body);
    if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#scan();
    else this.#text = body.length;
    return {
      text: this.#text,
      blanks: first === OPEN_BRACE ? this.#blanks : this.#text,
      literals: this.#literals,
      schema: this.#schema,
      hasTools: this.#hasTools,
      hasReasoning: this.#hasReasoning,
      messages: this.#messages,
      calls: this.#calls,
      images: this.#images,
      media: this.#media,
    };
  }

  #scan(): void {
    const body = this.#body;
    let isLiteral = false;
    for (let i = 0; i < body.length; i++) {
      const byte = body[i] ?? NUL;
      if (byte === QUOTE) i = this.#readString(i + 1);
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#open(i);
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#close(i);
      else if (byte > BLANK && byte !== COMMA && byte !== COLON) {
        if (!isLiteral && this.#schemaDepth === 0) this.#literals++;
        isLiteral = true;
        continue;
      }
      isLiteral = false;
    }
    if (this.#schemaDepth > 0) this.#close(body.length);
  }

  #open(at: number): void {
    this.#depth++;
    const isDefinition = this.#kind === "schema" || this.#kind === "tools";
    if (!isDefinition || this.#schemaDepth > 0) return;
    this.#hasTools ||= this.#kind === "tools" &&
      ![CLOSE_BRACE, CLOSE_BRACKET].includes(this.#body[at + 1] ?? NUL);
    this.#schemaDepth = this.#depth;
    this.#schemaStart = at;
  }

  #close(at: number): void {
    if (this.#depth === this.#schemaDepth && this.#schemaDepth > 0) {
      this.#schema += at - this.#schemaStart;
      this.#schemaDepth = 0;
    }
    this.#kind = undefined;
    this.#depth--;
  }

  /** Reads a string that begins at `start`; returns the place of its end. */
  #readString(start: number): number {
    const body = this.#body;
    let [end, escaped, blanks] = [start, 0, 0];
    for (; end < body.length; end++) {
      const byte = body[end];
      if (byte === QUOTE) break;
      if (byte === BLANK) blanks++;
      else if (byte === BACKSLASH) escaped += body[++end] === U ? 3 : 1;
    }
    if (this.#schemaDepth > 0) return end;
    let next = end + 1;
    while ((body[next] ?? COMMA) <= BLANK) next++;
    if (body[next] === COLON) this.#readKey(start, end);
    else if (this.#kind !== "format" && this.#kind !== "message") {
      if (this.#isMedia(start, end)) this.#addMedia(start, end);
      else {
        this.#text += end - start - escaped;
        this.#blanks += blanks;
      }
    }
    return end;
  }

  #readKey(start: number, end: number): void {
    this.#keys++;
    this.#kind = end - start > MAX_KEY_BYTES || this.#keys > MAX_KEYS
      ? undefined
      : kinds.get(this.#body.toString("latin1", start, end));
    if (this.#kind === "message") this.#messages++;
    else if (this.#kind === "call") this.#calls++;
    else if (this.#kind === "reasoning") this.#hasReasoning = true;
  }

  /** Reports whether a string is media, by its name and by samples: text has spaces and punctuation. */
  #isMedia(start: number, end: number): boolean {
    if (this.#kind !== "media" || end - start < MIN_MEDIA_BYTES) return false;
    const beginning = this.#sample(start).replace(dataUrl, "");
    const middle = this.#sample((start + end) >> 1);
    return [beginning, middle, this.#sample(end - SAMPLE_BYTES)]
      .every((text) => base64.test(text));
  }

  #addMedia(start: number, end: number): void {
    const length = Math.min(end - start, IMAGE_HEAD_BYTES);
    const text = this.#body.toString("latin1", start, start + length)
      .replace(dataUrl, "");
    const size = readImageSize(Buffer.from(text, "base64"));
    if (size === undefined || this.#images.length >= MAX_IMAGES) this.#media++;
    else this.#images.push(size);
  }

  #sample(start: number): string {
    return this.#body.toString("latin1", start, start + SAMPLE_BYTES);
  }
}

function firstByte(body: Uint8Array): number {
  let at = 0;
  while ((body[at] ?? OPEN_BRACE) <= BLANK) at++;
  return body[at] ?? NUL;
}
