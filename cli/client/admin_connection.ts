import { splitHostPort } from "../../src/base/wire/host_port.ts";
import type { Clock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { Failure, UsageError } from "../process/exit.ts";

/** A request to the admin interface. */
export interface AdminRequest {
  readonly method: "GET" | "POST";
  readonly pathAndQuery: string;
  /** Body as JSON. */
  readonly body?: unknown;
  readonly token: string | undefined;
  /** Time limit for the head of the response, and for the body unless `liftTimeout` is called. */
  readonly timeoutMs: number;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/** A response whose head has arrived; disposing it disconnects. */
export interface AdminResponse extends Disposable {
  readonly response: Response;
  /** Removes the time limit for the body. */
  liftTimeout(): void;
}

/**
 * Sends a request to `host:port` or `unix:<path>`; tries all addresses of `localhost`.
 * @throws {Failure} When there is no response in time.
 * @throws {UsageError} When the address is invalid.
 */
export async function send(
  address: string,
  request: AdminRequest,
  clock: Clock,
): Promise<AdminResponse> {
  const proxies = proxiesFor(address);
  const abort = new AbortController();
  const liftTimeout = clock.setTimer(
    () => abort.abort(new Deno.errors.TimedOut("timed out")),
    request.timeoutMs,
  );
  const signal = request.signal === undefined
    ? abort.signal
    : AbortSignal.any([abort.signal, request.signal]);
  let failure: unknown;
  for (const proxy of proxies) {
    const client = Deno.createHttpClient({ proxy });
    const disconnect = () => {
      liftTimeout();
      abort.abort();
      client.close();
    };
    try {
      const response = await sendTo(client, request, signal);
      return { response, liftTimeout, [Symbol.dispose]: disconnect };
    } catch (error) {
      client.close();
      // The second address of localhost is IPv6, which a machine may lack.
      failure ??= error;
    }
  }
  liftTimeout();
  throw unreachable(address, failure);
}

function sendTo(
  client: Deno.HttpClient,
  { method, pathAndQuery, token, body }: AdminRequest,
  signal: AbortSignal,
): Promise<Response> {
  const headers = new Headers();
  if (token !== undefined) {
    headers.set("authorization", `Bearer ${token}`);
  }
  if (body !== undefined) headers.set("content-type", "application/json");
  // The admin interface never redirects, and the token must not be sent elsewhere.
  const redirect = "manual";
  const url = `http://localhost${pathAndQuery}`;
  return fetch(url, {
    client,
    method,
    headers,
    redirect,
    signal,
    body: body === undefined ? null : JSON.stringify(body),
  });
}

/**
 * Returns the endpoints of an address. As proxies, they make `fetch` connect exactly there: it ignores proxies of the
 * environment and its list of blocked ports.
 */
function proxiesFor(name: string): readonly Deno.Proxy[] {
  // The log has the address as a URL.
  const bare = name.replace(/^http:\/\/([^/]*)\/?$/, "$1");
  const [, path] = /^unix:(.+)$/s.exec(bare) ?? [];
  if (path !== undefined) return [{ transport: "unix", path }];
  const parts = splitHostPort(bare);
  if (parts === undefined) {
    throw new UsageError(
      `Invalid admin address: expected "host:port" or "unix:<path>", got "${name}"`,
    );
  }
  const { host, port } = parts;
  const hosts = host === "localhost" ? ["127.0.0.1", "::1"] : [host];
  return hosts.map((each) => tcpProxy(each, port));
}

function tcpProxy(host: string, port: number): Deno.Proxy {
  return {
    transport: "tcp",
    hostname: host.includes(":") ? `[${host}]` : host,
    port,
  };
}

/** The admin interface is unreachable. */
export class UnreachableError extends Failure {
  constructor(message: string, readonly isTimeout = false) {
    super(message);
  }
}

function unreachable(name: string, error: unknown): Failure {
  const [reason] =
    /connection refused|no such file or directory|permission denied|timed out/i
      .exec(describeError(error)) ?? [];
  return new UnreachableError(
    `Cannot reach the admin interface at ${name}: ${
      reason?.toLowerCase() ?? describeError(error)
    }
Is the gateway running with "config.adminAddr" at this address? Select another one with -p <port> or --admin <address>`,
    error instanceof Deno.errors.TimedOut,
  );
}
