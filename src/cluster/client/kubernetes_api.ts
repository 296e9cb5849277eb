import { objectAt, parseJson, stringMember } from "../../base/json.ts";
import type { ClusterAccess } from "./api_access.ts";

/** A response of the API server other than 2xx. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  /**
   * @param code HTTP status, or the `code` of a watch event of type `ERROR`.
   * @param reason Such as `NotFound`, `Conflict`, `Expired`, `Forbidden`; empty when the response is not of the API server.
   */
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    /** Seconds, from `Retry-After`. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** A request to the API server. */
export interface ApiRequest {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With the query: `/api/v1/namespaces?limit=1`. */
  readonly path: string;
  readonly body?: unknown;
  /** Default `application/json`. */
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** Default 15 s for everything but watches. */
  readonly timeoutMs?: number;
}

const UNAUTHORIZED = 401;
const NOT_FOUND = 404;
const REQUEST_TIMEOUT_MS = 15_000;
/** Messages of the API server quote the object that it rejects. */
const MAX_MESSAGE = 500;

/**
 * Speaks with one API server over one HTTP/2 connection.
 *
 * `@kubernetes/client-node` would add 75 MB of memory, and does not notice a restarted API server.
 */
export class KubernetesApi implements Disposable {
  readonly access: ClusterAccess;
  #client: Deno.HttpClient;
  #connection = new AbortController();

  constructor(access: ClusterAccess) {
    this.access = access;
    this.#client = createClient(access);
  }

  /** Ends all requests, watches too; the next one opens another connection. */
  reconnect(reason: string): void {
    const [client, connection] = [this.#client, this.#connection];
    this.#client = createClient(this.access);
    this.#connection = new AbortController();
    connection.abort(new Error(`The connection was closed: ${reason}`));
    client.close();
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  /** Returns the response once its head is there. @throws {ApiError} @throws {TypeError} When the server cannot be reached. */
  async open(request: ApiRequest): Promise<Response> {
    const { method = "GET", path, body, signal } = request;
    const headers = new Headers({ accept: "application/json" });
    const token = await this.access.token?.();
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    if (body !== undefined) {
      headers.set("content-type", request.contentType ?? "application/json");
    }
    const alive = this.#connection.signal;
    const response = await fetch(this.access.server + path, {
      method,
      headers,
      client: this.#client,
      redirect: "error",
      signal: signal === undefined ? alive : AbortSignal.any([signal, alive]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (response.ok) return response;
    // The next request has the token that replaced it.
    if (response.status === UNAUTHORIZED) this.access.forgetToken?.();
    throw await readError(response);
  }

  /** Opens a WebSocket for binary messages; resolves when it is open. @throws {TypeError} When the server rejects it. */
  async openSocket(path: string, protocol: string): Promise<WebSocket> {
    const token = await this.access.token?.();
    const url = this.access.server.replace(/^http/, "ws") + path;
    const socket = new WebSocket(url, {
      protocols: [protocol],
      client: this.#client,
      ...(token !== undefined &&
        { headers: { authorization: `Bearer ${token}` } }),
    });
    socket.binaryType = "arraybuffer";
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.onopen = () => resolve();
    socket.onerror = (event) =>
      reject(
        new TypeError(
          `Cannot open ${path}: ${
            event instanceof ErrorEvent ? event.message : "rejected"
          }`,
        ),
      );
    await promise;
    return socket;
  }

  /** Returns the body of the response. @throws {ApiError} @throws {TypeError} When the server cannot be reached. */
  async request(request: ApiRequest): Promise<unknown> {
    using deadline = createDeadline(
      request.timeoutMs ?? REQUEST_TIMEOUT_MS,
      request.signal,
    );
    const response = await this.open({ ...request, signal: deadline.signal });
    return await response.json();
  }

  /** Returns the body of the response; `undefined` for 404. @throws {ApiError} @throws {TypeError} When the server cannot be reached. */
  async find(request: ApiRequest): Promise<unknown> {
    try {
      return await this.request(request);
    } catch (error) {
      if (error instanceof ApiError && error.code === NOT_FOUND) {
        return undefined;
      }
      throw error;
    }
  }

  /** Merges `object` into what is there as the fields of `manager` (server-side apply), and takes over fields of others. */
  async apply(
    path: string,
    manager: string,
    object: unknown,
  ): Promise<unknown> {
    return await this.request({
      method: "PATCH",
      path: `${path}?fieldManager=${encodeURIComponent(manager)}&force=true`,
      body: object,
      contentType: "application/apply-patch+yaml",
    });
  }
}

function createClient({ ca, certificate }: ClusterAccess): Deno.HttpClient {
  return Deno.createHttpClient({
    caCerts: ca === undefined ? [] : [ca],
    ...certificate,
  });
}

async function readError(response: Response): Promise<ApiError> {
  const text = await response.text();
  const fields = objectAt(parseJson(text));
  const message = stringMember(fields, "message") ?? text;
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError(
    response.status,
    stringMember(fields, "reason") ?? "",
    `The API server responded with ${response.status}: ${
      message.slice(0, MAX_MESSAGE)
    }`,
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  );
}

/** Aborts after `timeoutMs`, or with `parent`; ends its timer when disposed. */
function createDeadline(timeoutMs: number, parent: AbortSignal | undefined) {
  const controller = new AbortController();
  const abort = () => controller.abort(parent?.reason);
  const timer = setTimeout(() => {
    const message = `The API server did not respond within ${timeoutMs} ms`;
    controller.abort(new DOMException(message, "TimeoutError"));
  }, timeoutMs);
  parent?.addEventListener("abort", abort, { once: true });
  if (parent?.aborted === true) abort();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      parent?.removeEventListener("abort", abort);
    },
  };
}
