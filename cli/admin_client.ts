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
  /** File with the token that it asks for; without, `GATEWAY_ADMIN_TOKEN` of the environment. */
  readonly tokenFile?: string;
}

/** The admin interface answered, but not with what was asked for. */
export class Refusal extends Failure {
  constructor(readonly status: number, readonly body: string, name: string) {
    const hint = status === 401
      ? "\nGive the token with --token-file <path> or in GATEWAY_ADMIN_TOKEN"
      : "";
    super(
      `The gateway at ${name} answered ${status}: ${body.trimEnd()}${hint}`,
    );
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
  const response = await ask(address, { method, pathAndQuery });
  return await response.text();
}

/**
 * The bytes of the answer to a GET that may take `extraMs` longer than others.
 * @throws {Failure | Refusal | UsageError} As `callAdmin`.
 */
export async function downloadAdmin(
  address: AdminAddress,
  pathAndQuery: string,
  extraMs: number,
): Promise<Uint8Array> {
  const response = await ask(address, { method: "GET", pathAndQuery, extraMs });
  return await response.bytes();
}

async function ask(
  address: AdminAddress,
  { method, pathAndQuery, extraMs = 0 }: {
    readonly method: "GET" | "POST";
    readonly pathAndQuery: string;
    readonly extraMs?: number;
  },
): Promise<Response> {
  const name = nameOf(address);
  const token = await readToken(address);
  const response = await reach(name, async (proxy) => {
    using client = Deno.createHttpClient({ proxy });
    const signal = AbortSignal.timeout(timeoutMs + extraMs);
    const response = await request(
      client,
      { method, pathAndQuery, token },
      signal,
    );
    // Read before the client is closed.
    return new Response(await response.arrayBuffer(), response);
  });
  if (response.ok) return response;
  throw new Refusal(response.status, await response.text(), name);
}

/** @throws {Failure} When there is no such file. */
async function readToken(
  { tokenFile }: AdminAddress,
): Promise<string | undefined> {
  if (tokenFile === undefined) return Deno.env.get("GATEWAY_ADMIN_TOKEN");
  try {
    return (await Deno.readTextFile(tokenFile)).trim();
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound
      ? "no such file"
      : describeError(error);
    throw new Failure(`Cannot read the token in "${tokenFile}": ${reason}`);
  }
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
  const token = await readToken(address);
  const { response, hangUp } = await reach(
    name,
    (proxy) => open(proxy, pathAndQuery, token),
  );
  if (response.ok && response.body !== null) {
    return { body: response.body, [Symbol.dispose]: hangUp };
  }
  const body = await response.text();
  hangUp();
  throw new Refusal(response.status, body, name);
}

async function open(
  proxy: Deno.Proxy,
  pathAndQuery: string,
  token: string | undefined,
) {
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
    const response = await request(
      client,
      { method: "GET", pathAndQuery, token },
      signal,
    );
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
  { method, pathAndQuery, token }: {
    readonly method: string;
    readonly pathAndQuery: string;
    readonly token: string | undefined;
  },
  signal: AbortSignal,
): Promise<Response> {
  const url = `http://localhost${pathAndQuery}`;
  const headers = new Headers();
  if (token !== undefined && token !== "") {
    headers.set("authorization", `Bearer ${token}`);
  }
  return fetch(url, { client, method, headers, signal });
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
