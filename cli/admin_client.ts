import { parseAddress, splitHostPort } from "../src/api/address.ts";
import { describeError } from "../src/base/errors.ts";
import { Failure, UsageError } from "./exit.ts";

/** Which admin interface to talk to. */
export interface AdminAddress {
  /** On this machine. */
  readonly port?: number;
  /** `host:port` or `unix:<path>`. */
  readonly admin?: string;
}

const timeoutMs = 10_000;

/**
 * The body of the answer to a request to the admin interface.
 * @throws {Failure} When it cannot be reached or refuses.
 * @throws {UsageError} When the address cannot be read.
 */
export async function callAdmin(
  address: AdminAddress,
  method: "GET" | "POST",
  pathAndQuery: string,
): Promise<string> {
  const name = address.admin ?? `localhost:${address.port ?? 15000}`;
  let failure: unknown;
  for (const proxy of proxiesFor(name)) {
    let response: Response;
    try {
      response = await connect(proxy, method, pathAndQuery);
    } catch (error) {
      failure = error;
      continue;
    }
    const body = await response.text();
    if (response.ok) return body;
    throw new Failure(
      `The gateway at ${name} answered ${response.status}: ${body.trimEnd()}`,
    );
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

async function connect(
  proxy: Deno.Proxy,
  method: string,
  pathAndQuery: string,
): Promise<Response> {
  using client = Deno.createHttpClient({ proxy });
  const response = await fetch(`http://localhost${pathAndQuery}`, {
    client,
    method,
    signal: AbortSignal.timeout(timeoutMs),
  });
  // Read before the client is closed.
  return new Response(await response.arrayBuffer(), response);
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
    { cause: undefined },
  );
}
