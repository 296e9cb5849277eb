import type { Duplex } from "node:stream";

/** The part of a TLS socket of Deno below its stream: its calls cost a third of those of the stream. */
export interface TlsHandle {
  /** Receives what was decrypted; `undefined` at the end, and after an error. Read by `readStart`. */
  onread: (chunk: ArrayBuffer | undefined) => void;
  readStart(): number;
  readStop(): number;
  /** Copies and sends bytes; returns 0, or an error. Calls `oncomplete` when the system has taken them, below 0 for an error. */
  writeBuffer(
    request: { oncomplete(status: number): void },
    bytes: Uint8Array,
  ): number;
}

/** The TCP connection below a TLS socket. */
type TcpHandle = Pick<TlsHandle, "readStart" | "readStop">;

/**
 * Returns the handle of a TLS socket; `undefined` for other streams, and where Deno has none of this form.
 *
 * The handle stops reading from the network by `readStop`. That of Deno 2.9 only stops to deliver what it decrypts: it goes on
 * reading into memory without bound, and loses an end that arrives meanwhile. So this stops the TCP connection below instead.
 */
export function tlsHandleOf(stream: Duplex): TlsHandle | undefined {
  const tls: unknown = Reflect.get(stream, "_handle");
  if (!hasMethods(tls, ["onread", "writeBuffer"])) return undefined;
  const tcp: unknown = Reflect.get(tls, "_parent");
  if (!isTlsHandle(tls) || !isTcpHandle(tcp)) return undefined;
  const start = tls.readStart.bind(tls);
  let isStopped = false;
  tls.readStop = () => {
    isStopped = true;
    return tcp.readStop();
  };
  tls.readStart = () => {
    if (!isStopped) return start();
    isStopped = false;
    return tcp.readStart();
  };
  return tls;
}

function isTlsHandle(value: unknown): value is TlsHandle {
  return isTcpHandle(value) && hasMethods(value, ["onread", "writeBuffer"]);
}

function isTcpHandle(value: unknown): value is TcpHandle {
  return hasMethods(value, ["readStart", "readStop"]);
}

function hasMethods(value: unknown, names: readonly string[]): value is object {
  return typeof value === "object" && value !== null &&
    names.every((name) => typeof Reflect.get(value, name) === "function");
}
