import { GatewayError } from "../../base/errors.ts";
import type { HeaderList } from "../../http/header_list.ts";

/**
 * Returns why a backend may read the content differently; `undefined` when it reads the same. Otherwise rules would see other
 * content than the backend acts on. The gateway reads UTF-8 and decodes nothing.
 *
 * Accepts at most one `Content-Type`, well-formed (RFC 9110 section 8.3.1), with no charset or UTF-8, and no `Content-Encoding`.
 */
export function contentProblem(headers: HeaderList): string | undefined {
  const coding = headers.getJoined("content-encoding");
  if (coding !== undefined && coding.toLowerCase() !== "identity") {
    return "the body is compressed";
  }
  if (headers.count("content-type") > 1) return "Content-Type is repeated";
  const type = headers.get("content-type");
  if (type === undefined || type === "application/json") return undefined;
  const charset = charsetOf(type);
  if (charset === undefined) return "Content-Type is malformed";
  return utf8.has(charset) ? undefined : "the charset is not UTF-8";
}

/**
 * Rejects a request with a `contentProblem`.
 * @throws {GatewayError} `unsupported_media_type`
 */
export function assertReadableContent(headers: HeaderList): void {
  const problem = contentProblem(headers);
  if (problem === undefined) return;
  throw new GatewayError(
    "unsupported_media_type",
    "downstream",
    `Cannot read the body: ${problem}`,
  );
}

/** Returns whether the body is a form: the same bytes have other fields as a form than as JSON. */
export function isForm(headers: HeaderList): boolean {
  return formType.test(headers.get("content-type") ?? "");
}

const formType = /^(?:application\/x-www-form-urlencoded|multipart\/)/i;

/** In lower case. Without a charset, JSON is UTF-8 (RFC 8259 section 8.1). */
const utf8: ReadonlySet<string> = new Set(["utf-8", "utf8"]);

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t\x20-\x7e])*"`;
const mediaType = new RegExp(`^${TOKEN}/${TOKEN}(?=[\\t ]*(?:;|$))`);
const parameter = new RegExp(
  `[\\t ]*;[\\t ]*(?:(${TOKEN})=(${TOKEN}|${QUOTED}))?`,
  "y",
);

/** Returns the charset of a `Content-Type` in lower case; `undefined` when servers may disagree on it. */
function charsetOf(type: string): string | undefined {
  const start = mediaType.exec(type)?.[0].length;
  if (start === undefined) return undefined;
  const end = type.trimEnd().length;
  let charset: string | undefined;
  parameter.lastIndex = start;
  while (parameter.lastIndex < end) {
    const [, name, value] = parameter.exec(type) ?? [undefined, undefined];
    if (parameter.lastIndex === 0) return undefined;
    if (name === undefined || value === undefined) continue;
    // Some servers read `charset*` as `charset` (RFC 2231).
    if (name.includes("*")) return undefined;
    if (name.toLowerCase() !== "charset") continue;
    if (charset !== undefined) return undefined;
    charset = value.replace(/^"|"$/g, "").toLowerCase();
  }
  return charset ?? "utf-8";
}
