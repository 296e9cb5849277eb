/**
 * A duplex byte stream: `Deno.TcpConn` fits as it is, a TLS socket through `node_transport.ts`.
 *
 * At most one read and one write are under way at a time.
 */
export interface Transport {
  /** Fills the start of `into`; resolves with the number of bytes, `null` at the end of the stream. */
  read(into: Uint8Array): Promise<number | null>;
  /** Writes at least one byte; resolves with how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends our side after what was written; the peer's bytes can still be read. */
  closeWrite(): Promise<void>;
  /** Releases the stream; a read under way rejects or resolves with `null`. Safe to call twice. */
  close(): void;
}

/** The far end of a connection. */
export interface Peer {
  /** IP address without brackets, such as `127.0.0.1` or `::1`; `unix` for a unix socket. */
  readonly address: string;
  readonly port: number;
}

/** Writes all of `bytes`. */
export async function writeAll(
  transport: Transport,
  bytes: Uint8Array,
): Promise<void> {
  let written = await transport.write(bytes);
  while (written < bytes.length) {
    written += await transport.write(bytes.subarray(written));
  }
}
