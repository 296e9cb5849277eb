import {
  isDeeperThan,
  isJsonObject,
  type JsonObject,
} from "../../../base/json.ts";
import { parseExactJson } from "../../../base/json/exact_json.ts";
import type { RestCall } from "../document/rest_tool.ts";
import { shortenJson } from "./shortened_json.ts";

/** The response of an API, read up to a limit. */
export interface RestResponse {
  readonly status: number;
  /** Value of `Content-Type`; empty without one. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** The body is longer than what was read. */
  readonly isCut: boolean;
}

/** Longer results are cut: models cannot read them. */
const MAX_RESULT = 128 * 1024;
const MAX_ERROR = 8 * 1024;
const MAX_BINARY = 4 * 1024 * 1024;
const MAX_DEPTH = 100;

/** Returns the result of a tool. Failures of the API are results, which models can read. */
export function resultOf(
  { promised }: RestCall,
  response: RestResponse,
): JsonObject {
  const { status, bytes, mediaType, isCut } = response;
  if (status < 200 || status > 299) return errorOf(response);
  if (bytes.length === 0) {
    return {
      content: [textBlock(`HTTP ${status}, without content`)],
      ...emptyOf(promised),
    };
  }
  const text = textOf(response);
  if (text === undefined) {
    return { ...binaryResult(mediaType, bytes, isCut), ...emptyOf(promised) };
  }
  const value = isCut || !isJson(mediaType) ? undefined : parse(text);
  if (value === undefined) {
    const note = text.length > MAX_RESULT || isCut
      ? [textBlock(noteOf(bytes.length, isCut, "the end is missing"))]
      : [];
    return {
      content: [textBlock(cutText(text, MAX_RESULT)), ...note],
      ...emptyOf(promised),
    };
  }
  const result = jsonResult(value, text);
  return isPromised(value, promised)
    ? result
    : { ...result, ...emptyOf(promised) };
}

/** Reports whether a value is of the type that a tool has promised. Clients reject results of another one. */
function isPromised(
  value: unknown,
  promised: RestCall["promised"],
): boolean {
  switch (promised) {
    case "object":
      return isJsonObject(value) && !JSON.isRawJSON(value);
    case "array":
      return Array.isArray(value);
    case "other":
    case undefined:
      return true;
  }
}

/** Returns the result for a request that was not sent, or whose response cannot be read. */
export function errorResult(text: string): JsonObject {
  return { content: [textBlock(text)], isError: true };
}

function jsonResult(value: unknown, text: string): JsonObject {
  if (text.length <= MAX_RESULT) {
    return { content: [textBlock(text)], structuredContent: value };
  }
  const shortened = shortenJson(value, MAX_RESULT);
  return {
    content: [
      textBlock(JSON.stringify(shortened)),
      textBlock(
        noteOf(text.length, false, "lists and long strings are shortened"),
      ),
    ],
    structuredContent: shortened,
  };
}

function noteOf(length: number, isCut: boolean, what: string): string {
  const size = `${isCut ? "more than " : ""}${Math.ceil(length / 1024)} KB`;
  return `Note of the gateway: the response has ${size} and was cut: ${what}. Ask for less, for example with a filter or a page size.`;
}

function errorOf({ status, ...response }: RestResponse): JsonObject {
  const text = textOf({ status, ...response }) ?? "";
  const hint = status >= 300 && status < 400
    ? "\nThe API redirects the request; the gateway does not follow redirects."
    : "";
  const body = text.trim() === "" ? "" : `\n${cutText(text, MAX_ERROR)}`;
  return errorResult(`HTTP ${status}${hint}${body}`);
}

/** Structured content for a tool that has promised some, where the response has none. */
function emptyOf(promised: RestCall["promised"]): JsonObject {
  switch (promised) {
    case "object":
      return { structuredContent: {} };
    case "array":
      return { structuredContent: [] };
    case "other":
      return { structuredContent: null };
    case undefined:
      return {};
  }
}

function binaryResult(
  mediaType: string,
  bytes: Uint8Array,
  isCut: boolean,
): JsonObject {
  const type = mediaType.split(";")[0]?.trim().toLowerCase() ||
    "application/octet-stream";
  if (isCut || bytes.length > MAX_BINARY) {
    return errorResult(
      `The response is ${type} and has more than ${MAX_BINARY} bytes`,
    );
  }
  const data = bytes.toBase64();
  const [kind = ""] = type.split("/");
  if (kind === "image" || kind === "audio") {
    return { content: [{ type: kind, data, mimeType: type }] };
  }
  const resource = { uri: "response:body", mimeType: type, blob: data };
  return { content: [{ type: "resource", resource }] };
}

/** Returns the body as text; `undefined` if it is binary. */
function textOf({ mediaType, bytes, isCut }: RestResponse): string | undefined {
  const isText =
    /^\s*(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|graphql|x-www-form-urlencoded|x-ndjson|jsonl)\b)/i
      .test(mediaType);
  if (!isText && mediaType.trim() !== "") return undefined;
  const [, charset = "utf-8"] = /charset\s*=\s*"?([\w-]+)/i.exec(mediaType) ??
    [];
  try {
    return new TextDecoder(charset, { fatal: !isText }).decode(bytes, {
      stream: isCut,
    });
  } catch {
    // It is binary, or of an unknown charset.
    return isText ? new TextDecoder().decode(bytes) : undefined;
  }
}

function isJson(mediaType: string): boolean {
  return mediaType.trim() === "" ||
    /^\s*application\/(?:[\w.-]+\+)?json\b/i.test(mediaType);
}

function parse(text: string): unknown {
  try {
    const value = parseExactJson(text);
    return isDeeperThan(value, MAX_DEPTH) ? undefined : value;
  } catch {
    // Not what its type says: it is passed on as text.
    return undefined;
  }
}

function cutText(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed();
}

function textBlock(text: string): JsonObject {
  return { type: "text", text };
}
