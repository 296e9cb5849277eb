import { type Clock, delay } from "../../../base/clock.ts";
import type { Peer, Transport } from "../../transport.ts";
import { untilQueueIsEmpty } from "./accept_queue.ts";

const BACK_OFF_MS = 100;

/** Address to listen on. */
export interface ListenAddress {
  /** Address, or `localhost` for 127.0.0.1 and ::1; default: all interfaces of both families. */
  readonly hostname?: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Shares the port with the other sockets that set this; the kernel gives each a part of the new connections. */
  readonly reusePort?: boolean;
}

/** A port that accepts connections. */
export interface Acceptor {
  readonly address: { readonly hostname: string; readonly port: number };
  /** Accepted connections that are not passed to the listener yet. */
  readonly handshakes: number;
  /** Takes the connections that the kernel has queued, and no further ones; those taken go on. */
  close(): Promise<void>;
  /** Resolves when no handshake is under way. */
  settled(): Promise<void>;
  /** Cuts handshakes. */
  abort(): void;
}

/** Listener of an acceptor. */
export interface TcpListener {
  /** Called for each connection. */
  onConnection(transport: Transport, peer: Peer): unknown;
  /** Called when no connections can be accepted, for example without free file descriptors. */
  onStall(error: unknown): void;
}

/** Accepts plain TCP connections. */
export class TcpAcceptor implements Acceptor {
  readonly handshakes = 0;
  readonly #listener: Deno.TcpListener;
  readonly #clock: Clock;
  readonly #accepting: Promise<void>;
  #taken = 0;
  #closed = false;

  /** @throws Errors of `Deno.listen`, such as `AddrInUse`. */
  constructor(
    address: Required<ListenAddress>,
    clock: Clock,
    listener: TcpListener,
  ) {
    this.#clock = clock;
    this.#listener = Deno.listen(address);
    this.#accepting = this.#acceptAll(listener);
  }

  get address(): { hostname: string; port: number } {
    const { hostname, port } = this.#listener.addr;
    return { hostname, port };
  }

  async close(): Promise<void> {
    await untilQueueIsEmpty(() => this.#taken);
    this.#closed = true;
    this.#listener.close();
    await this.#accepting;
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  abort(): void {}

  async #acceptAll(listener: TcpListener): Promise<void> {
    while (!this.#closed) {
      try {
        const connection = await this.#listener.accept();
        this.#taken++;
        connection.setNoDelay(true);
        listener.onConnection(connection, peerOf(connection.remoteAddr));
      } catch (error) {
        if (this.#closed || hasLeft(error)) continue;
        // Without file descriptors the port stays open, and waits until some are free.
        listener.onStall(error);
        await delay(this.#clock, BACK_OFF_MS);
      }
    }
  }
}

/** Returns whether only that client has disconnected: a pause for each would let a few hundred of them block the port. */
function hasLeft(error: unknown): boolean {
  return error instanceof Deno.errors.NotConnected ||
    error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.ConnectionAborted;
}

/** Returns the peer of a connection, with its IPv4 address if it uses IPv4 on a dual-stack socket. */
export function peerOf(
  address: { readonly hostname: string; readonly port: number },
): Peer {
  const { hostname, port } = address;
  return {
    address: hostname.startsWith("::ffff:") ? hostname.slice(7) : hostname,
    port,
  };
}

/**
 * Opens an acceptor for each address of `hostname`, all on one port.
 *
 * A machine without one of the IP families listens on the other.
 * @throws The error of `open`; no acceptor stays open then.
 */
export async function openAll<
  Opened extends Pick<Acceptor, "address" | "close">,
>(
  { hostname, port, reusePort = false }: ListenAddress,
  open: (address: Required<ListenAddress>) => Opened | Promise<Opened>,
): Promise<Opened[]> {
  if (hostname === undefined) {
    const everywhere = { hostname: "::", port, reusePort };
    try {
      return [await open(everywhere)];
    } catch (error) {
      if (isUnavailable(error)) throw error;
      return [await open({ ...everywhere, hostname: "0.0.0.0" })];
    }
  }
  if (hostname !== "localhost") {
    return [await open({ hostname, port, reusePort })];
  }
  const first = await open({ hostname: "127.0.0.1", port, reusePort });
  const second = { hostname: "::1", port: first.address.port, reusePort };
  try {
    return [first, await open(second)];
  } catch (error) {
    if (!isUnavailable(error)) return [first];
    await first.close();
    throw error;
  }
}

/** Returns whether the address exists, but the process cannot listen on it. */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return error.code === "EADDRINUSE" || error.code === "EACCES";
}
