import type { Address } from "../src/api/schema/address.ts";
import type { Clock } from "../src/base/clock.ts";
import { describeError } from "../src/base/errors.ts";
import type { Log } from "../src/base/log.ts";
import { LastingServer } from "./restarting_server.ts";
import type { Handler } from "./router.ts";
import { removeStaleSocket, servePrivately } from "./unix_socket.ts";

/** A server that accepts requests. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:15000` and `unix:/run/gateway.sock`; empty for `off`. */
  readonly addresses: readonly string[];
  /** Stops accepting; requests in progress have a second to end. */
  close(): Promise<void>;
}

/** What `off` means. */
export const nowhere: RunningServer = {
  addresses: [],
  close: () => Promise.resolve(),
};

/** What is to be served where. */
export interface ServeOptions {
  /** How messages name the address: `config.adminAddr "localhost:15000"`. */
  readonly name: string;
  readonly address: Address;
  readonly handler: Handler;
  readonly clock: Clock;
  readonly log: Log;
  /** Addresses that this process listens on already, by what messages call them. */
  readonly ours?: Readonly<Record<string, Address>>;
}

/** An address that cannot be listened on. */
export class ListenError extends Error {
  override readonly name = "ListenError";

  constructor(name: string, reason: string) {
    super(`Cannot listen on ${name}: ${reason}`);
  }
}

const CLOSE_TIMEOUT_MS = 1000;
const PORT_ATTEMPTS = 10;

/** @throws {ListenError} When the address is taken or not ours. */
export async function listen(options: ServeOptions): Promise<RunningServer> {
  const { address } = options;
  if (address.kind === "off") return nowhere;
  if (address.kind === "unix") {
    return await listenOnSocket(options, address.path);
  }
  return await listenOnHosts(options, address.hosts, address.port);
}

/** All hosts on the same port; when any port will do, one that is free on each. */
async function listenOnHosts(
  options: ServeOptions,
  hosts: readonly string[],
  port: number,
): Promise<RunningServer> {
  for (let attempt = 1;; attempt++) {
    try {
      const servers = await openHosts(options, hosts, port);
      const addresses = servers.map(({ addr }) => toUrl(addr));
      return running(servers, addresses, options.clock);
    } catch (error) {
      const isWorthRetry = port === 0 &&
        error instanceof Deno.errors.AddrInUse && attempt < PORT_ATTEMPTS;
      if (!isWorthRetry) {
        const reason = ownerOf(port, error, options) ?? reasonOf(error);
        throw new ListenError(options.name, reason);
      }
    }
  }
}

/** The hosts that this machine has; none is left open when one fails. */
async function openHosts(
  options: ServeOptions,
  hosts: readonly string[],
  port: number,
): Promise<readonly LastingServer<Deno.NetAddr>[]> {
  const servers: LastingServer<Deno.NetAddr>[] = [];
  try {
    for (const hostname of hosts) {
      const server = openHost(options, hostname, servers[0]?.addr.port ?? port);
      if (server !== undefined) servers.push(server);
    }
    if (servers.length > 0) return servers;
    throw new Deno.errors.AddrNotAvailable("no such address on this machine");
  } catch (error) {
    await Promise.all(servers.map((server) => server.shutdown()));
    throw error;
  }
}

/** `undefined` when this machine lacks the address, as it may one of `localhost` where IPv6 is off. */
function openHost(
  { handler, clock, log }: ServeOptions,
  hostname: string,
  port: number,
): LastingServer<Deno.NetAddr> | undefined {
  try {
    return new LastingServer({
      clock,
      log,
      open: (before) =>
        Deno.serve({
          hostname,
          port: before?.port ?? port,
          onListen() {},
          handler: (request) => handler(request),
        }),
    });
  } catch (error) {
    if (error instanceof Deno.errors.AddrNotAvailable) return undefined;
    throw error;
  }
}

async function listenOnSocket(
  options: ServeOptions,
  path: string,
): Promise<RunningServer> {
  try {
    await removeStaleSocket(path);
    const server = new LastingServer({
      ...options,
      open: () => servePrivately(path, options.handler),
    });
    // Deno removes the socket as soon as it stops accepting; what is there when requests have ended is another process's.
    return running([server], [`unix:${path}`], options.clock);
  } catch (error) {
    throw new ListenError(options.name, reasonOf(error));
  }
}

function running(
  servers: readonly Pick<LastingServer<Deno.Addr>, "shutdown">[],
  addresses: readonly string[],
  clock: Clock,
): RunningServer {
  return {
    addresses,
    // Deno can not cut a connection after `shutdown`: one whose client reads nothing is left to the end of the process.
    close: () =>
      new Promise((resolve, reject) => {
        const cancelTimer = clock.setTimer(resolve, CLOSE_TIMEOUT_MS);
        Promise.all(servers.map((server) => server.shutdown()))
          .then(() => resolve(), reject)
          .finally(cancelTimer);
      }),
  };
}

function toUrl({ hostname, port }: Deno.NetAddr): string {
  return `http://${
    hostname.includes(":") ? `[${hostname}]` : hostname
  }:${port}`;
}

/** Who has the port, when it is this process itself. */
function ownerOf(
  port: number,
  error: unknown,
  { ours = {} }: ServeOptions,
): string | undefined {
  if (!(error instanceof Deno.errors.AddrInUse)) return undefined;
  const [name] =
    Object.entries(ours).find(([, address]) =>
      address.kind === "tcp" && address.port === port
    ) ?? [];
  return name === undefined ? undefined : `${name} has the same port`;
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.AddrInUse) {
    return "the port is in use by another process";
  }
  if (error instanceof Deno.errors.AddrNotAvailable) {
    return "this machine does not have the address";
  }
  if (error instanceof Deno.errors.NotFound) {
    return "the directory does not exist";
  }
  return describeError(error);
}
