import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { isFieldValue } from "../../../http/field_syntax.ts";
import type {
  CredentialPlace,
  RestCall,
  RestParameter,
} from "../document/rest_tool.ts";
import { encodeBody } from "./rest_body.ts";
import { ArgumentError, pairsOf, simpleText } from "./value_styles.ts";

/** An HTTP request to a REST API. */
export interface RestRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

/** Limit of the request target: servers reject longer ones. */
const MAX_TARGET = 16_384;

/**
 * Creates the request of a call.
 * @param basePath Path of the base URL, without a slash at the end.
 * @param credential The credential of the gateway, for the place that the API wants it in.
 * @param newBoundary Returns a boundary of parts of a form.
 * @throws {ArgumentError}
 */
export function createRestRequest(
  call: RestCall,
  args: JsonObject,
  basePath: string,
  credential: string | undefined,
  newBoundary: () => string,
): RestRequest {
  checkArguments(call, args);
  const { method, parameters, body, accept } = call;
  const query: string[] = call.query === "" ? [] : [call.query];
  const cookies: string[] = [];
  const headers: [string, string][] = [["accept", accept]];
  for (const parameter of parameters) {
    const value = argumentOf(args, parameter);
    if (value === undefined || value === null) continue;
    if (parameter.in === "query") query.push(...queryOf(parameter, value));
    else if (parameter.in === "cookie") {
      cookies.push(
        ...pairsOf(parameter.name, value, parameter, encodeURIComponent)
          .map(([name, text]) => `${encodeURIComponent(name)}=${text}`),
      );
    } else if (parameter.in === "header") {
      headers.push([parameter.name, headerValue(parameter, value)]);
    }
  }
  const path = pathOf(call, args);
  const place = call.security[0];
  if (credential !== undefined && place !== undefined) {
    addCredential(place, credential, { query, cookies, headers });
  }
  if (cookies.length > 0) headers.push(["cookie", cookies.join("; ")]);
  const encoded = body === undefined
    ? undefined
    : encodeBody(body, argumentOf(args, body), newBoundary);
  if (encoded !== undefined) headers.push(["content-type", encoded.mediaType]);
  const search = query.length === 0 ? "" : `?${query.join("&")}`;
  const target = `${basePath}${path}${search}`;
  if (target.length > MAX_TARGET) {
    throw new ArgumentError("The arguments are too long for a URL");
  }
  return { method, target, headers, body: encoded?.bytes };
}

/** Returns an argument; arguments may be called like members of all objects. */
function argumentOf(
  args: JsonObject,
  { argument }: { readonly argument: string },
): unknown {
  return Object.hasOwn(args, argument) ? args[argument] : undefined;
}

/** @throws {ArgumentError} For arguments that the tool does not have, or that it needs. */
function checkArguments({ parameters, body }: RestCall, args: JsonObject) {
  const known = body === undefined ? parameters : [...parameters, body];
  const names = new Set(known.map(({ argument }) => argument));
  const unknown = Object.keys(args).filter((name) => !names.has(name));
  if (unknown.length > 0) {
    throw new ArgumentError(
      `Unknown arguments: ${unknown.slice(0, 8).join(", ").slice(0, 256)}`,
    );
  }
  const missing = known.filter((each) =>
    each.isRequired && argumentOf(args, each) === undefined
  );
  if (missing.length > 0) {
    const list = missing.map(({ argument }) => argument).join(", ");
    throw new ArgumentError(`Missing arguments: ${list}`);
  }
}

/** @throws {ArgumentError} */
function pathOf({ path, parameters }: RestCall, args: JsonObject): string {
  const filled = path.replace(/\{([^{}]*)\}/g, (_, name: string) => {
    const parameter = parameters.find((each) =>
      each.in === "path" && each.name === name
    );
    const value = parameter && argumentOf(args, parameter);
    const text = parameter === undefined || value === undefined ||
        value === null
      ? ""
      : simpleText(name, value, parameter, encodeURIComponent);
    if (text === "") throw new ArgumentError(`"${name}" must not be empty`);
    return text;
  });
  // An argument must not lead to another path.
  if (filled.split("/").some((segment) => /^\.{1,2}$/.test(segment))) {
    throw new ArgumentError('A part of the path must not be "." or ".."');
  }
  return encodeURI(filled).replaceAll("%25", "%").replace(
    /[?#]/g,
    (sign) => sign === "?" ? "%3F" : "%23",
  );
}

function queryOf(parameter: RestParameter, value: unknown): readonly string[] {
  const encode = parameter.allowReserved ? encodeReserved : encodeURIComponent;
  return pairsOf(parameter.name, value, parameter, encode)
    .map(([name, text]) => `${encodeURIComponent(name)}=${text}`);
}

/** Encodes a value of a query and keeps reserved characters, except those that end a value. */
function encodeReserved(text: string): string {
  return encodeURI(text).replace(/[#&+]/g, encodeURIComponent);
}

/** @throws {ArgumentError} */
function headerValue(parameter: RestParameter, value: unknown): string {
  const text = simpleText(parameter.name, value, parameter, (each) => each);
  if (isFieldValue(text)) return text;
  throw new ArgumentError(
    `"${parameter.argument}" has characters that a header field cannot have`,
  );
}

function addCredential(
  place: CredentialPlace,
  credential: string,
  { query, cookies, headers }: {
    readonly query: string[];
    readonly cookies: string[];
    readonly headers: [string, string][];
  },
): void {
  switch (place.in) {
    case "header":
      headers.push([place.name, credential]);
      break;
    case "query":
      query.push(
        `${encodeURIComponent(place.name)}=${encodeURIComponent(credential)}`,
      );
      break;
    case "cookie":
      cookies.push(
        `${encodeURIComponent(place.name)}=${encodeURIComponent(credential)}`,
      );
      break;
    case "bearer":
      headers.push(["authorization", `Bearer ${credential}`]);
      break;
    case "basic":
      headers.push(["authorization", `Basic ${basicOf(credential)}`]);
  }
}

/** Returns `user:password` as base64; a key without a colon is the user (as of Stripe). */
function basicOf(credential: string): string {
  const pair = credential.includes(":") ? credential : `${credential}:`;
  return new TextEncoder().encode(pair).toBase64();
}

/** Returns the arguments of a call of a tool. @throws {ArgumentError} */
export function argumentsOf(params: JsonObject): JsonObject {
  const { arguments: args = {} } = params;
  if (isJsonObject(args)) return args;
  throw new ArgumentError('"arguments" must be an object');
}
