import { type Cors, corsSchema } from "../../api/resources/cors_filter.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";
import { compileOrigins } from "./cors_origin.ts";
import { defineSlot } from "../slot.ts";
import type { Policy, PolicyContext } from "../policy.ts";

import { definePolicy, noProblems } from "../define_policy.ts";

/** Lets cross-origin requests pass. */
export const cors = definePolicy("cors", {
  description: "Allows cross-origin requests from browsers.",
  schema: corsSchema,
  phases: ["route", "gateway"],
  merge: "replace",
  access: "open",
  trace: { event: "cors", stage: "cors", selection: "cors" },
  rejections: {},
}, {
  check: noProblems,
  create: createCors,
});

/** Headers that the gateway writes for clients, in lower case: CORS exposes those that a response has to cross-origin scripts. */
export const exposedHeaders = defineSlot<readonly string[]>("exposedHeaders");

/**
 * Lets pages of other origins call a route; Gateway API, `HTTPCORSFilter`.
 *
 * A preflight is answered here with 204 and goes no further, also when its origin is not allowed; it is then without the headers
 * that would let the browser go on. Other requests pass whatever their origin, and it is the browser that withholds the answer.
 * Headers are written on the way back, so that they stand on rejections too and replace what the upstream says.
 *
 * `*` in methods and headers is answered with what the preflight asked for: browsers take a literal `*` not to cover
 * `Authorization`, nor anything when credentials are allowed.
 */
export function createCors(config: Cors): Policy<never> {
  const decorate = compileDecoration(config);
  // Later policies may change or remove the header before the response comes back.
  const origins = new WeakMap<RequestMessage, string>();
  return {
    onRequest({ request, trace }) {
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
      const origin = origins.get(context.request);
      decorate(context, origin, response.headers);
    },
  };
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
  // The one answer that is the same for everybody, so that caches may share it.
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
  const methods = compileAnswer(
    "access-control-allow-methods",
    config.allowMethods,
    "Access-Control-Request-Method",
  );
  const allowedHeaders = compileAnswer(
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

/** Writes the configured list under `name`, for `*` what the request asks for in `asked`, for none nothing. */
function compileAnswer(
  name: string,
  values: readonly string[] | undefined,
  asked: string,
) {
  const list = values?.join(", ") ?? "";
  const isWildcard = list === "*";
  const askedKey = asked.toLowerCase();
  return (request: RequestMessage, headers: HeaderList): void => {
    if (isWildcard) addVary(headers, asked);
    const value = isWildcard ? request.headers.getJoined(askedKey) : list;
    if (value) headers.append(name, value);
  };
}

/** Without the challenge a client in a page cannot find out where to log in. */
const CHALLENGE_HEADER = "www-authenticate";

/**
 * Writes the configured list and what the gateway itself has to say, such as `Retry-After`. With credentials browsers take `*` for a
 * header name, so the names of the response itself are listed.
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
