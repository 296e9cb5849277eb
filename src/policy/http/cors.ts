import { type Cors, corsSchema } from "../../api/rules/cors_filter.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";
import { compileOrigins } from "./cors_origin.ts";
import { defineSlot } from "../contract/slot.ts";
import type { Policy, PolicyContext, ReadableBy } from "../contract/policy.ts";

import { definePolicy, noProblems } from "../contract/define_policy.ts";

/** Allows cross-origin requests. */
export const cors = definePolicy("cors", {
  description: "Allows cross-origin requests from browsers.",
  schema: corsSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: "open",
  rejections: {},
}, {
  check: noProblems,
  create: createCors,
});

/** Headers that the gateway writes for clients, in lower case; CORS exposes them to cross-origin scripts. */
export const exposedHeaders = defineSlot<readonly string[]>("exposedHeaders");

/**
 * Allows cross-origin requests to a route (Gateway API, `HTTPCORSFilter`).
 *
 * The policy responds to preflights with 204; if the origin is not allowed, without CORS headers, and the browser stops. Other
 * requests pass with any origin, and the browser withholds the response. Headers are written to the response, so that rejections
 * have them too and those of the upstream are replaced. Another policy may decide for the requests that it answers itself
 * (`ReadableBy`), such as those for the OAuth metadata of an MCP server.
 *
 * `*` in methods and headers allows what the preflight requests: to browsers, a literal `*` excludes `Authorization`, and everything
 * when credentials are allowed.
 */
export function createCors(config: Cors): Policy<never> {
  const decorate = compileDecoration(config);
  // Later policies may change or remove the header before the response comes back.
  const origins = new WeakMap<RequestMessage, string>();
  const readers = new WeakMap<RequestMessage, ReadableBy>();
  return {
    onRequest(context) {
      const { request, trace } = context;
      const readableBy = request.target.includes(WELL_KNOWN)
        ? context.readableBy
        : undefined;
      if (readableBy !== undefined) {
        trace?.skip(`OAuth endpoint, readable by ${readableBy}`);
        readers.set(request, readableBy);
        return;
      }
      const origin = request.headers.getJoined("origin");
      if (origin === undefined) {
        trace?.skip("no Origin header");
        return;
      }
      trace?.apply({ origin });
      origins.set(request, origin);
      if (isPreflight(request)) {
        return { status: 204, headers: new HeaderList(), body: undefined };
      }
    },
    onResponse(context, response) {
      const readableBy = readers.get(context.request);
      if (readableBy !== undefined) {
        return overrule(readableBy, response.headers);
      }
      const origin = origins.get(context.request);
      decorate(context, origin, response.headers);
    },
  };
}

/** Part of the path of requests that policies answer themselves for pages of every origin, or of none. */
const WELL_KNOWN = "/.well-known/";

/** Applies the decision of another policy, also to rejections, such as those of a rate limit. */
function overrule(readableBy: ReadableBy, headers: HeaderList): void {
  if (readableBy === "every page") {
    headers.delete("access-control-allow-credentials");
    headers.set("access-control-allow-origin", "*");
  } else {
    for (const name of decisionHeaders) headers.delete(name);
  }
}

const decisionHeaders = [
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "access-control-expose-headers",
  "access-control-allow-methods",
  "access-control-allow-headers",
  "access-control-max-age",
];

function isPreflight({ method, headers }: RequestMessage): boolean {
  return method === "OPTIONS" && headers.has("access-control-request-method");
}

function compileDecoration(config: Cors) {
  const isAllowed = compileOrigins(config.allowOrigins ?? []);
  const allowed = (origin: string | undefined) =>
    origin !== undefined && isAllowed(origin) ? origin : undefined;
  const allowCredentials = config.allowCredentials ?? false;
  // Only this response is the same for every origin, so that caches may share it.
  const isPublic = !allowCredentials &&
    (config.allowOrigins?.includes("*") ?? false);
  const writePreflight = compilePreflight(config);
  const expose = compileExpose(config, allowCredentials);

  return (
    { request, slots }: PolicyContext,
    origin: string | undefined,
    headers: HeaderList,
  ): void => {
    for (const name of decisionHeaders) headers.delete(name);
    if (!isPublic) addVary(headers, "Origin");
    const allowOrigin = isPublic ? "*" : allowed(origin);
    if (allowOrigin === undefined) return;
    expose(headers, slots.get(exposedHeaders));
    if (origin !== undefined && isPreflight(request)) {
      writePreflight(request, headers);
    }
    headers.append("access-control-allow-origin", allowOrigin);
    if (allowCredentials) {
      headers.append("access-control-allow-credentials", "true");
    }
  };
}

function compilePreflight(config: Cors) {
  const methods = compileList(
    "access-control-allow-methods",
    config.allowMethods,
    "Access-Control-Request-Method",
  );
  const allowedHeaders = compileList(
    "access-control-allow-headers",
    config.allowHeaders,
    "Access-Control-Request-Headers",
  );
  const maxAge = String(config.maxAge);
  return (request: RequestMessage, headers: HeaderList): void => {
    methods(request, headers);
    allowedHeaders(request, headers);
    headers.append("access-control-max-age", maxAge);
  };
}

/** Writes the configured list to header `name`; for `*`, the request's value of header `requested`. */
function compileList(
  name: string,
  values: readonly string[] | undefined,
  requested: string,
) {
  const list = values?.join(", ") ?? "";
  const isWildcard = list === "*";
  const requestedKey = requested.toLowerCase();
  return (request: RequestMessage, headers: HeaderList): void => {
    if (isWildcard) addVary(headers, requested);
    const value = isWildcard ? request.headers.getJoined(requestedKey) : list;
    if (value) headers.append(name, value);
  };
}

/** Clients in a browser need the challenge to find the login. */
const CHALLENGE_HEADER = "www-authenticate";

/**
 * Writes the configured list and the gateway's own headers, such as `Retry-After`. With credentials, browsers read `*` as a header
 * name, so all names of the response are listed.
 */
function compileExpose(config: Cors, allowCredentials: boolean) {
  const names = config.exposeHeaders ?? [];
  const list = names.join(", ");
  const isWildcard = list === "*";
  const known = new Set(names.map((name) => name.toLowerCase()));
  const valueFor = (headers: HeaderList, own: readonly string[]): string => {
    if (isWildcard) return allowCredentials ? namesOf(headers) : list;
    const added = [CHALLENGE_HEADER, ...own]
      .filter((name) => headers.has(name) && !known.has(name));
    return added.length === 0 ? list : [...names, ...added].join(", ");
  };
  return (headers: HeaderList, own: readonly string[] = []): void => {
    const value = valueFor(headers, own);
    if (value !== "") headers.append("access-control-expose-headers", value);
  };
}

function namesOf(headers: HeaderList): string {
  const names = new Set<string>();
  headers.forEach((name) => names.add(name.toLowerCase()));
  return [...names].join(", ");
}

function addVary(headers: HeaderList, name: string): void {
  const present = headers.getJoined("vary");
  if (present === undefined) {
    headers.append("vary", name);
    return;
  }
  const names = present.toLowerCase().split(",").map((item) => item.trim());
  if (names.includes("*") || names.includes(name.toLowerCase())) return;
  headers.set("vary", `${present}, ${name}`);
}
