import { describeError } from "../../src/base/errors.ts";
import type { Log } from "../../src/base/log/log.ts";
import type { OperationText } from "./operation_text.ts";
import { InvalidParameter } from "./query_parameters.ts";
import { text } from "./admin_responses.ts";

/** Handles one method of one path. Handlers that read the body of the request limit it. */
export type Handler = (request: Request) => Response | Promise<Response>;

/** Handles a request of a client. @param peer IP address of the client, or `unix:<path>`. */
export type PeerHandler = (
  request: Request,
  peer: string,
) => Response | Promise<Response>;

/** A path with its handlers. */
export interface Endpoint {
  /** A trailing `/*` matches one segment. */
  readonly path: string;
  /** `GET` also handles `HEAD`. */
  readonly methods: Readonly<Partial<Record<"GET" | "POST", Handler>>>;
  /** The response is endless or expensive, so `HEAD` is not supported. */
  readonly isStream?: boolean;
  /** Descriptions of the methods, for `/openapi.json` and the index page. */
  readonly texts?: Readonly<Partial<Record<"GET" | "POST", OperationText>>>;
}

/** Routes requests to endpoints. Returns 404 for unknown paths, 405 for wrong methods, 400 for invalid parameters, 500 for failing handlers. */
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
      log.error("Cannot handle a request", { path: pathname, error });
      return text(500, `internal error: ${describeError(error)}`);
    }
  };
}

/** Removes the body but declares the length of a `GET` response (RFC 9110 section 8.6). */
async function withoutBody(response: Response): Promise<Response> {
  const { status, headers } = response;
  const { byteLength } = await response.arrayBuffer();
  headers.set("content-length", String(byteLength));
  return new Response(null, { status, headers });
}

/** Formats `Allow`, such as `GET, HEAD`. */
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
