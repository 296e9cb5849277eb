import type { Clock } from "../../../base/clock.ts";
import type { Peer, Transport } from "../../transport.ts";
import { untilQueueIsEmpty } from "./accept_queue.ts";

const BACK_OFF_MS = 100;

/** Where to listen. */
export interface ListenAddress {
  /** Address or `localhost`, which is both 127.0.0.1 and ::1; all interfaces of both families if left out. */
  readonly hostname?: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Shares the port with the other sockets that set this; the kernel gives each a part of the new connections. */
  readonly reusePort?: boolean;
}

/** A port that takes connections. */
export interface Acceptor {
  readonly address: { readonly hostname: string; readonly port: number };
  /** Connections taken that are not handed on yet. */
  readonly handshakes: number;
  /** Takes the connections that the kernel has queued, and no further ones; those taken go on. */
  close(): Promise<void>;
  /** Resolves when no handshake is under way. */
  settled(): Promise<void>;
  /** Cuts handshakes. */
  abort(): void;
}

/** Told what becomes of a port. */
export interface TcpListener {
  /** There is a connection. */
  onConnection(transport: Transport, peer: Peer): unknown;
  /** Clients have to wait for a connection, as when there are no file descriptors. */
  onStall(error: unknown): void;
}

/** Takes plain TCP connections. */
export class TcpAcceptor implements Acceptor {
  readonly handshakes = 0;
  readonly #listener: Deno.TcpListener;
  readonly #clock: Clock;
  readonly #accepting: Promise<void>;
  #taken = 0;
  #closed = false;

  /** @throws What `Deno.listen` throws, such as `AddrInUse`. */
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
        // Out of file descriptors: that does not end the port, and others may free some.
        listener.onStall(error);
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(resolve, BACK_OFF_MS));
  }
}

/** Whether it is only that client who is gone: to pause for each would let a few hundred of them close the port to everybody. */
function hasLeft(error: unknown): boolean {
  return error instanceof Deno.errors.NotConnected ||
    error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.ConnectionAborted;
}

/** IPv4 clients of a dual-stack socket are known by their IPv4 address. */
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
 * Opens an acceptor for each address that `hostname` stands for, all on one port.
 *
 * A machine that lacks one of the IP families listens on the other.
 * @throws What `open` throws; none is left open then.
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
      if (isRefusal(error)) throw error;
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
    if (!isRefusal(error)) return [first];
    await first.close();
    throw error;
  }
}

/** Whether the address exists but is not for us. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return error.code === "EADDRINUSE" || error.code === "EACCES";
}
