import { parseAddress, splitHostPort } from "../src/api/address.ts";
import { systemClock } from "../src/base/clock.ts";
import { describeError } from "../src/base/errors.ts";
import { Failure, UsageError } from "./exit.ts";

/** Which admin interface to talk to. */
export interface AdminAddress {
  /** On this machine. */
  readonly port?: number;
  /** `host:port` or `unix:<path>`. */
  readonly admin?: string;
}

/** The admin interface answered, but not with what was asked for. */
export class Refusal extends Failure {
  constructor(readonly status: number, readonly body: string, name: string) {
    super(`The gateway at ${name} answered ${status}: ${body.trimEnd()}`);
  }
}

/** An answer that goes on; disposing it hangs up. */
export interface AdminStream extends Disposable {
  readonly body: ReadableStream<Uint8Array>;
}

const timeoutMs = 10_000;

/**
 * The body of the answer to a request to the admin interface.
 * @throws {Failure} When it cannot be reached.
 * @throws {Refusal} When it refuses.
 * @throws {UsageError} When the address cannot be read.
 */
export async function callAdmin(
  address: AdminAddress,
  method: "GET" | "POST",
  pathAndQuery: string,
): Promise<string> {
  const name = nameOf(address);
  const response = await reach(name, async (proxy) => {
    using client = Deno.createHttpClient({ proxy });
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await request(client, method, pathAndQuery, signal);
    // Read before the client is closed.
    return new Response(await response.arrayBuffer(), response);
  });
  const body = await response.text();
  if (!response.ok) throw new Refusal(response.status, body, name);
  return body;
}

/**
 * The answer to a GET as it comes; only its head has a time limit.
 * @throws {Failure | Refusal | UsageError} As `callAdmin`.
 */
export async function streamAdmin(
  address: AdminAddress,
  pathAndQuery: string,
): Promise<AdminStream> {
  const name = nameOf(address);
  const { response, hangUp } = await reach(
    name,
    (proxy) => open(proxy, pathAndQuery),
  );
  if (response.ok && response.body !== null) {
    return { body: response.body, [Symbol.dispose]: hangUp };
  }
  const body = await response.text();
  hangUp();
  throw new Refusal(response.status, body, name);
}

async function open(proxy: Deno.Proxy, pathAndQuery: string) {
  const client = Deno.createHttpClient({ proxy });
  const abort = new AbortController();
  const hangUp = () => {
    abort.abort();
    client.close();
  };
  const stopTimer = systemClock.setTimer(
    () => abort.abort(new Deno.errors.TimedOut("timed out")),
    timeoutMs,
  );
  try {
    const { signal } = abort;
    const response = await request(client, "GET", pathAndQuery, signal);
    return { response, hangUp };
  } catch (error) {
    hangUp();
    throw error;
  } finally {
    stopTimer();
  }
}

function request(
  client: Deno.HttpClient,
  method: string,
  pathAndQuery: string,
  signal: AbortSignal,
): Promise<Response> {
  const url = `http://localhost${pathAndQuery}`;
  return fetch(url, { client, method, signal });
}

function nameOf({ admin, port }: AdminAddress): string {
  return admin ?? `localhost:${port ?? 15000}`;
}

/** The outcome of the first way that works. */
async function reach<T>(
  name: string,
  attempt: (proxy: Deno.Proxy) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const proxy of proxiesFor(name)) {
    try {
      return await attempt(proxy);
    } catch (error) {
      failure = error;
    }
  }
  throw unreachable(name, failure);
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

function unreachable(name: string, error: unknown): Failure {
  const [reason] =
    /connection refused|no such file or directory|permission denied|timed out/i
      .exec(describeError(error)) ?? [];
  return new Failure(
    `Cannot reach the admin interface at ${name}: ${
      reason?.toLowerCase() ?? describeError(error)
    }
Is the gateway running, with "config.adminAddr" at this address? Choose another with -p <port> or --admin <address>`,
  );
}
