import { describeError } from "../src/base/errors.ts";
import type { Log } from "../src/base/log.ts";
import { InvalidParameter } from "./query_numbers.ts";
import { text } from "./admin_responses.ts";

/** Answers one method of one path. The body of the request is never read, so it has no limit to keep. */
export type Handler = (request: Request) => Response | Promise<Response>;

/** A path and what it answers. */
export interface Endpoint {
  /** One that ends in `/*` is for each path with one more segment. */
  readonly path: string;
  /** `GET` answers `HEAD` as well. */
  readonly methods: Readonly<Partial<Record<"GET" | "POST", Handler>>>;
  /** The answer has no end of its own or costs too much for nothing, so there is no `HEAD` of it. */
  readonly isStream?: boolean;
}

/** Answers requests from a table of endpoints: unknown path 404, wrong method 405, a bad parameter 400, a failing handler 500. */
export function createRouter(
  endpoints: readonly Endpoint[],
  log: Log,
): Handler {
  const byPath = new Map(
    endpoints.map((endpoint) => [endpoint.path, endpoint]),
  );
  return async (request) => {
    const { pathname } = new URL(request.url);
    const endpoint = byPath.get(pathname) ??
      byPath.get(pathname.replace(/[^/]+$/, "*"));
    if (endpoint === undefined) return text(404, "not found");

    const isHead = request.method === "HEAD";
    const method = isHead && endpoint.isStream !== true
      ? "GET"
      : request.method;
    const handler = findHandler(endpoint, method);
    if (handler === undefined) {
      return text(405, "method not allowed", {
        allow: allowedMethods(endpoint),
      });
    }
    try {
      const response = await handler(request);
      return isHead ? await withoutBody(response) : response;
    } catch (error) {
      if (error instanceof InvalidParameter) return text(400, error.message);
      log.error("Cannot answer a request", { path: pathname, error });
      return text(500, `internal error: ${describeError(error)}`);
    }
  };
}

/** The same with the length of what a `GET` would answer (RFC 9110 section 8.6). */
async function withoutBody(response: Response): Promise<Response> {
  const { status, headers } = response;
  const { byteLength } = await response.arrayBuffer();
  headers.set("content-length", String(byteLength));
  return new Response(null, { status, headers });
}

/** Value of `Allow`, such as `GET, HEAD`. */
export function allowedMethods({ methods, isStream }: Endpoint): string {
  return Object.keys(methods).flatMap((method) =>
    method === "GET" && isStream !== true ? ["GET", "HEAD"] : [method]
  ).join(", ");
}

function findHandler(
  { methods }: Endpoint,
  method: string,
): Handler | undefined {
  if (method === "GET") return methods.GET;
  return method === "POST" ? methods.POST : undefined;
}
