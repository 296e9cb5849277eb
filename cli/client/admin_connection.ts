import { parseAddress } from "../../src/api/schema/address.ts";
import { splitHostPort } from "../../src/base/host_port.ts";
import type { Clock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { Failure, UsageError } from "../process/exit.ts";

/** A request to the admin interface. */
export interface AdminRequest {
  readonly method: "GET" | "POST";
  readonly pathAndQuery: string;
  readonly token: string | undefined;
  /** For the head of the answer, and the body when `Answer.goOn` is not called. */
  readonly timeoutMs: number;
  /** Hangs up. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer whose head is there; disposing it hangs up. */
export interface Answer extends Disposable {
  readonly response: Response;
  /** Gives the body all the time it wants. */
  goOn(): void;
}

/**
 * Sends a request in the first way that reaches the address, which is `host:port` or `unix:<path>`.
 * @throws {Failure} When nobody answers in time.
 * @throws {UsageError} When the address cannot be read.
 */
export async function send(
  address: string,
  request: AdminRequest,
  clock: Clock,
): Promise<Answer> {
  const proxies = proxiesFor(address);
  const abort = new AbortController();
  const goOn = clock.setTimer(
    () => abort.abort(new Deno.errors.TimedOut("timed out")),
    request.timeoutMs,
  );
  const signal = request.signal === undefined
    ? abort.signal
    : AbortSignal.any([abort.signal, request.signal]);
  let failure: unknown;
  for (const proxy of proxies) {
    const client = Deno.createHttpClient({ proxy });
    const hangUp = () => {
      goOn();
      abort.abort();
      client.close();
    };
    try {
      const response = await ask(client, request, signal);
      return { response, goOn, [Symbol.dispose]: hangUp };
    } catch (error) {
      client.close();
      // The second address of localhost is IPv6, which a machine may lack.
      failure ??= error;
    }
  }
  goOn();
  throw unreachable(address, failure);
}

function ask(
  client: Deno.HttpClient,
  { method, pathAndQuery, token }: AdminRequest,
  signal: AbortSignal,
): Promise<Response> {
  const headers = new Headers();
  if (token !== undefined) {
    headers.set("authorization", `Bearer ${token}`);
  }
  // The gateway redirects nobody, and the token is for nobody else.
  const redirect = "manual";
  const url = `http://localhost${pathAndQuery}`;
  return fetch(url, { client, method, headers, redirect, signal });
}

/**
 * Ways to reach the address. As "proxies", because that makes `fetch` connect exactly there: it goes neither through a
 * proxy of the environment nor by its list of blocked ports.
 */
function proxiesFor(name: string): readonly Deno.Proxy[] {
  const address = parseAddress(name);
  if (address?.kind === "unix") {
    return [{ transport: "unix", path: address.path }];
  }
  if (address?.kind === "tcp") {
    return address.hosts.map((host) => tcpProxy(host, address.port));
  }
  const parts = splitHostPort(name);
  if (parts === undefined) {
    throw new UsageError(
      `Cannot read admin address: expected "host:port" or "unix:<path>", got "${name}"`,
    );
  }
  return [tcpProxy(parts.host, parts.port)];
}

function tcpProxy(host: string, port: number): Deno.Proxy {
  return {
    transport: "tcp",
    hostname: host.includes(":") ? `[${host}]` : host,
    port,
  };
}

/** Nobody answers at the address. */
export class UnreachableError extends Failure {}

function unreachable(name: string, error: unknown): Failure {
  const [reason] =
    /connection refused|no such file or directory|permission denied|timed out/i
      .exec(describeError(error)) ?? [];
  return new UnreachableError(
    `Cannot reach the admin interface at ${name}: ${
      reason?.toLowerCase() ?? describeError(error)
    }
Is the gateway running, with "config.adminAddr" at this address? Choose another with -p <port> or --admin <address>`,
  );
}
