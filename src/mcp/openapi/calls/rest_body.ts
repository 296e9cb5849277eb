import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { RestBody, RestPart } from "../document/rest_tool.ts";
import { ArgumentError, pairsOf, plainText } from "./value_styles.ts";

/** A body of a request. */
export interface EncodedBody {
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Properties without rules of their own. */
const usualPart: RestPart = {
  style: "content",
  explode: true,
  allowReserved: false,
  mediaType: undefined,
  isFile: false,
};

const encoder = new TextEncoder();

/** Encodes a body; `undefined` without one. @throws {ArgumentError} */
export function encodeBody(
  body: RestBody,
  value: unknown,
  newBoundary: () => string,
): EncodedBody | undefined {
  if (value === undefined) return undefined;
  const { form, mediaType, argument } = body;
  switch (form) {
    case "json":
      return { mediaType, bytes: encoder.encode(JSON.stringify(value)) };
    case "text":
      return { mediaType, bytes: encoder.encode(plainText(value)) };
    case "base64":
      return { mediaType, bytes: bytesOf(value, argument) };
  }
  if (!isJsonObject(value)) {
    throw new ArgumentError(`"${argument}" must be an object`);
  }
  return form === "urlencoded"
    ? { mediaType, bytes: encoder.encode(urlencoded(body, value)) }
    : multipart(body, value, newBoundary());
}

function partOf({ parts }: RestBody, name: string): RestPart {
  return Object.hasOwn(parts, name) ? parts[name] ?? usualPart : usualPart;
}

function urlencoded(body: RestBody, value: JsonObject): string {
  return Object.entries(value).flatMap(([name, item]) => {
    const part = partOf(body, name);
    return pairsOf(name, item, part, encodeForm)
      .map(([key, text]) => `${encodeForm(key)}=${text}`);
  }).join("&");
}

/** As HTML forms do, except that spaces are `%20`, which everybody reads. */
function encodeForm(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Encodes a form with files (RFC 7578). */
function multipart(
  body: RestBody,
  value: JsonObject,
  boundary: string,
): EncodedBody {
  const chunks: Uint8Array[] = [];
  for (const [name, item] of Object.entries(value)) {
    const part = partOf(body, name);
    const items = Array.isArray(item) ? item : [item];
    for (const each of items) {
      if (each === undefined || each === null) continue;
      chunks.push(
        encoder.encode(`--${boundary}\r\n${partHead(name, each, part)}\r\n`),
        part.isFile ? bytesOf(each, name) : encoder.encode(plainText(each)),
        encoder.encode("\r\n"),
      );
    }
  }
  chunks.push(encoder.encode(`--${boundary}--\r\n`));
  return {
    mediaType: `${body.mediaType.split(";")[0]}; boundary=${boundary}`,
    bytes: Buffer.concat(chunks),
  };
}

function partHead(name: string, value: unknown, part: RestPart): string {
  const quoted = name.replace(/["\r\n]/g, encodeURIComponent);
  const isJson = typeof value === "object";
  const type = part.mediaType ??
    (part.isFile
      ? "application/octet-stream"
      : isJson
      ? "application/json"
      : undefined);
  const file = part.isFile ? `; filename="${quoted}"` : "";
  return [
    `Content-Disposition: form-data; name="${quoted}"${file}`,
    ...type === undefined ? [] : [`Content-Type: ${type}`],
    "",
  ].join("\r\n");
}

/** @throws {ArgumentError} */
function bytesOf(value: unknown, argument: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(typeof value === "string" ? value : "?");
  } catch {
    throw new ArgumentError(`"${argument}" must be base64`);
  }
}
