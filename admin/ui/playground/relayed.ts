import { isJsonObject } from "../../../src/base/json.ts";
import { InvalidParameter } from "../../http/query_parameters.ts";
import { readJsonBody, textMember } from "../../http/request_body.ts";

/** A request of the playground. */
export interface PlaygroundRequest {
  /** Configured port of the listener that it is sent to; without it, the URL is one of an identity provider. */
  readonly port: number | undefined;
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A response on its way to the page. */
export interface RelayedResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: AsyncIterable<Uint8Array>;
}

/** Limit of bytes of a response that the page gets. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

const methods = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/** Reads a request of the page. @throws {InvalidParameter} */
export async function readPlaygroundRequest(
  request: Request,
): Promise<PlaygroundRequest> {
  const given = await readJsonBody(request);
  const url = URL.parse(textMember(given, "url"));
  const method = textMember(given, "method");
  const { port, headers = {}, body } = given;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidParameter("invalid url: expected http:// or https://");
  }
  if (!methods.has(method)) {
    throw new InvalidParameter(
      `invalid method: expected one of ${[...methods].join(", ")}`,
    );
  }
  if (port !== undefined && typeof port !== "number") {
    throw new InvalidParameter("invalid port: expected a number");
  }
  if (body !== undefined && typeof body !== "string") {
    throw new InvalidParameter("invalid body: expected a string");
  }
  return { port, url, method, headers: readHeaders(headers), body };
}

function readHeaders(given: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (
    const [name, value] of Object.entries(isJsonObject(given) ? given : {})
  ) {
    if (typeof value !== "string" || !isHeader(name, value)) {
      throw new InvalidParameter("invalid headers: expected names and values");
    }
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

function isHeader(name: string, value: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
    /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

/** Frames a response: a line of JSON with status and headers, then the body as it comes. */
export async function* frame(
  { status, headers, body }: RelayedResponse,
): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(`${JSON.stringify({ status, headers })}\n`);
  let left = MAX_RESPONSE_BYTES;
  for await (const chunk of body) {
    yield chunk.subarray(0, left);
    left -= chunk.byteLength;
    if (left <= 0) return;
  }
}
