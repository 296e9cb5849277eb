/**
 * A duplex byte stream: `Deno.TcpConn` implements it; `node_transport.ts` adapts TLS sockets.
 *
 * At most one read and one write may be in progress at a time.
 */
export interface Transport {
  /** Fills the start of `into`; resolves with the number of bytes, `null` at the end of the stream. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes at least one byte; resolves with the number of bytes. */
  write(bytes: Uint8Array): Promise<number>;
  /** Closes the sending side after pending writes; the peer's bytes can still be read. */
  closeWrite(): Promise<void>;
  /** Releases the stream; a pending read rejects or resolves with `null`. May be called twice. */
  close(): void;
}

/** The far end of a connection. */
export interface Peer {
  /** IP address without brackets, such as `127.0.0.1` or `::1`; `unix` for a unix socket. */
  readonly address: string;
  readonly port: number;
}

/** Writes all of `bytes`. */
export function writeAll(
  transport: Transport,
  bytes: Uint8Array,
): Promise<void> {
  // One write nearly always suffices; an async function would cost every message more.
  return transport.write(bytes).then((written) =>
    written < bytes.length
      ? writeAll(transport, bytes.subarray(written))
      : undefined
  );
}
