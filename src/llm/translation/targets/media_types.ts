import type { DocumentPart } from "../conversation/conversation.ts";
import { malformed, noCounterpart } from "../conversation/losses.ts";

/** Formats of documents at Bedrock, and the media types by file name at Gemini. */
const formats: readonly (readonly [string, string])[] = [
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  [
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "docx",
  ],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["image/jpeg", "jpg"],
  ["image/webp", "webp"],
  ["image/gif", "gif"],
];

/**
 * Returns Bedrock's name of a format.
 * @throws {UntranslatableError} If it has none.
 */
export function documentFormat(mediaType: string): string {
  const found = formats.find(([type]) => type === mediaType);
  if (found !== undefined) return found[1];
  throw noCounterpart(`a file of type ${mediaType.slice(0, 100)}`);
}

/** Returns the media type of a file by its name or URL; `undefined` for unknown endings. */
export function mediaTypeOf(name: string): string | undefined {
  const ending = /\.(\w{1,8})(?:[?#]|$)/.exec(name)?.[1]?.toLowerCase();
  return formats.find(([, format]) => format === ending)?.[0];
}

/** First bytes of files, which servers know the type of less well. */
const signatures: readonly (readonly [RegExp, string])[] = [
  [/^\u0089PNG\r\n/, "image/png"],
  [/^\u00ff\u00d8\u00ff/, "image/jpeg"],
  [/^GIF8/, "image/gif"],
  [/^RIFF[^]{4}WEBP/, "image/webp"],
  [/^%PDF-/, "application/pdf"],
];

/**
 * Returns the media type of fetched content: by its first bytes, or for documents without such, by what the server says.
 * @param declared `content-type`.
 * @returns `undefined` for other types, and for images that are none.
 */
export function mediaTypeOfContent(
  bytes: Uint8Array,
  declared: string,
): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  const found = signatures.find(([signature]) => signature.test(start));
  if (found !== undefined) return found[1];
  const type = declared.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const isKnown = formats.some(([known]) => known === type);
  return isKnown && !type.startsWith("image/") && type !== "application/pdf"
    ? type
    : undefined;
}

/**
 * Returns the text of a document that is plain text; `undefined` for others.
 * @throws {UntranslatableError} If it is not in Base64.
 */
export function plainText({ source }: DocumentPart): string | undefined {
  if (!("data" in source) || source.mediaType !== "text/plain") {
    return undefined;
  }
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(source.data));
  } catch {
    throw malformed("the data of a file", "Base64");
  }
}
