import { sensitiveParameters } from "../../base/redaction.ts";
import { decodableCodings } from "../../llm/format/content_decoder.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";

/**
 * Fields of clients that do not go to providers: credentials, accounts that they would be billed to, and addresses inside the
 * network.
 */
const withheld: ReadonlySet<string> = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "x-goog-user-project",
  "openai-organization",
  "openai-project",
  "ocp-apim-subscription-key",
  // Google would act on another method, or leave the usage out.
  "x-http-method-override",
  "x-goog-fieldmask",
  "forwarded",
  "via",
]);
const withheldPrefixes = /^(?:x-amz-|x-forwarded-)/;

const PROTOCOLS = "sec-websocket-protocol";
/** Subprotocols by which browsers send a key of OpenAI, and the account to bill: they cannot set header fields. */
const credentialProtocol =
  /^openai-(?:insecure-api-key|organization|project)\./i;

/** Parameters of Google that select parts of responses: the usage is to be among them. */
const fieldMasks: ReadonlySet<string> = new Set(["fields", "$fields"]);

/** Returns a client's fields as a provider gets them. @param own Fields for requests that do not have them. */
export function providerHeaders(
  client: HeaderList,
  own: readonly (readonly [string, string])[],
): HeaderList {
  const headers = client.copy();
  headers.deleteWhere((name) => {
    const lower = name.toLowerCase();
    return withheld.has(lower) || withheldPrefixes.test(lower);
  });
  const protocols = headers.getJoined(PROTOCOLS);
  if (protocols !== undefined) {
    const kept = protocols.split(",").map((protocol) => protocol.trim())
      .filter((protocol) => !credentialProtocol.test(protocol));
    headers.delete(PROTOCOLS);
    if (kept.length > 0) headers.append(PROTOCOLS, kept.join(", "));
  }
  for (const [name, value] of own) {
    if (!headers.has(name)) headers.append(name, value);
  }
  return headers;
}

const BETA = "anthropic-beta";

/** Removes betas that a provider would reject; returns whether there were any. */
export function filterBetas(headers: HeaderList, accepted: RegExp): boolean {
  const values = headers.getJoined(BETA)?.split(",").map((beta) => beta.trim());
  const kept = values?.filter((beta) => accepted.test(beta)) ?? [];
  if (values === undefined || kept.length === values.length) return false;
  headers.delete(BETA);
  if (kept.length > 0) headers.append(BETA, kept.join(","));
  return true;
}

/** Fields that make servers act on another method. */
const methodOverrides = [
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
];
/** Fields that select a part of a response: the usage is to be in it. */
const partFields = ["x-goog-fieldmask", "range", "if-range"];

/** Removes what would keep the usage of a request from the response: another method than that which is counted, parts, unknown codings. */
export function requestWhole(
  request: Pick<RequestMessage, "method" | "target" | "headers">,
): void {
  const { method, target, headers } = request;
  for (const name of methodOverrides) headers.delete(name);
  if (method === "GET" || method === "HEAD") return;
  for (const name of partFields) headers.delete(name);
  const codings = headers.getJoined("accept-encoding");
  if (codings !== undefined) {
    headers.set("accept-encoding", decodableCodings(codings));
  }
  if (!/fields/i.test(decode(target))) return;
  const [path = ""] = target.split("?", 1);
  request.target = path + filterQuery(target, (name) => !fieldMasks.has(name));
}

/** Returns the query of a target without credentials and field masks: `?alt=sse` of `/x?alt=sse&key=k`. */
export function providerQuery(target: string): string {
  return filterQuery(
    target,
    (name) => !sensitiveParameters.has(name) && !fieldMasks.has(name),
  );
}

function filterQuery(
  target: string,
  isKept: (name: string) => boolean,
): string {
  const start = target.indexOf("?");
  if (start < 0) return "";
  const kept = target.slice(start + 1).split("&").filter((pair) => {
    const [name = ""] = pair.split("=", 1);
    return name !== "" && isKept(decode(name).toLowerCase());
  });
  return kept.length === 0 ? "" : `?${kept.join("&")}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
