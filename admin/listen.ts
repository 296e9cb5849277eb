import type { Address } from "../src/api/schema/address.ts";
import type { Clock } from "../src/base/clock.ts";
import { describeError } from "../src/base/errors.ts";
import type { Log } from "../src/base/log/log.ts";
import { RestartingServer } from "./restarting_server.ts";
import type { PeerHandler } from "./http/router.ts";
import { removeStaleSocket, servePrivately } from "./unix_socket.ts";

/** A server that accepts requests. */
export interface RunningServer {
  /** Addresses such as `http://127.0.0.1:15000` and `unix:/run/gateway.sock`; empty for `off`. */
  readonly addresses: readonly string[];
  /** Stops accepting; requests in progress have a second to finish. */
  close(): Promise<void>;
}

/** The server for `off`. */
export const disabledServer: RunningServer = {
  addresses: [],
  close: () => Promise.resolve(),
};

/** Options of `listen`. */
export interface ServeOptions {
  /** Name of the address in messages: `config.adminAddr "localhost:15000"`. */
  readonly name: string;
  readonly address: Address;
  readonly handler: PeerHandler;
  readonly clock: Clock;
  readonly log: Log;
  /** Shares the port with other processes that do the same. */
  readonly reusePort?: boolean;
  /** Other listen addresses of this process by their name in messages. */
  readonly ownAddresses?: Readonly<Record<string, Address>>;
}

/** The gateway cannot listen on an address. */
export class ListenError extends Error {
  override readonly name = "ListenError";

  constructor(name: string, reason: string) {
    super(`Cannot listen on ${name}: ${reason}`);
  }
}

const CLOSE_TIMEOUT_MS = 1000;
const PORT_ATTEMPTS = 10;

/** Starts a server. @throws {ListenError} When the address is in use or not local. */
export async function listen(options: ServeOptions): Promise<RunningServer> {
  const { address } = options;
  if (address.kind === "off") return disabledServer;
  if (address.kind === "unix") {
    return await listenOnSocket(options, address.path);
  }
  return await listenOnHosts(options, address.hosts, address.port);
}

/** Listens on all hosts with the same port; for port 0, one that is free on each. */
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

/** Opens the hosts that exist on this machine; closes all when one fails. */
async function openHosts(
  options: ServeOptions,
  hosts: readonly string[],
  port: number,
): Promise<readonly RestartingServer<Deno.NetAddr>[]> {
  const servers: RestartingServer<Deno.NetAddr>[] = [];
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

/** Opens a host; returns `undefined` when this machine lacks the address, such as `::1` without IPv6. */
function openHost(
  { handler, clock, log, reusePort = false }: ServeOptions,
  hostname: string,
  port: number,
): RestartingServer<Deno.NetAddr> | undefined {
  try {
    return new RestartingServer({
      clock,
      log,
      open: (before) =>
        Deno.serve({
          hostname,
          port: before?.port ?? port,
          reusePort,
          onListen() {},
          handler: (request, { remoteAddr }) =>
            handler(request, withoutMapping(remoteAddr.hostname)),
        }),
    });
  } catch (error) {
    if (error instanceof Deno.errors.AddrNotAvailable) return undefined;
    throw error;
  }
}

/** Returns the IPv4 address of a client that reaches a socket of IPv6. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=[0-9.]+$)/i, "");
}

async function listenOnSocket(
  options: ServeOptions,
  path: string,
): Promise<RunningServer> {
  try {
    await removeStaleSocket(path);
    const server = new RestartingServer({
      ...options,
      open: () =>
        servePrivately(
          path,
          (request) => options.handler(request, `unix:${path}`),
        ),
    });
    // Deno removes the socket when it stops accepting; one that exists after the last request belongs to another process.
    return running([server], [`unix:${path}`], options.clock);
  } catch (error) {
    throw new ListenError(options.name, reasonOf(error));
  }
}

function running(
  servers: readonly Pick<RestartingServer<Deno.Addr>, "shutdown">[],
  addresses: readonly string[],
  clock: Clock,
): RunningServer {
  return {
    addresses,
    // Deno cannot close a connection after `shutdown`: one whose client does not read stays open until the process ends.
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

/** Returns the reason if this process itself uses the port. */
function ownerOf(
  port: number,
  error: unknown,
  { ownAddresses = {} }: ServeOptions,
): string | undefined {
  if (!(error instanceof Deno.errors.AddrInUse)) return undefined;
  const [name] =
    Object.entries(ownAddresses).find(([, address]) =>
      address.kind === "tcp" && address.port === port
    ) ?? [];
  return name === undefined ? undefined : `${name} uses the same port`;
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
