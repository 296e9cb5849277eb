import type { Duplex } from "node:stream";

/**
 * Makes a TLS socket of Node stop reading from the network while its buffer is full.
 *
 * Deno 2.9 only stops to deliver what it decrypts: it goes on reading into memory without bound, and loses an end that arrives
 * meanwhile. So this stops the TCP connection below instead. Does nothing for other streams.
 */
export function boundReads(stream: Duplex): void {
  const tls = property(stream, "_handle");
  const tcp = property(tls, "_parent");
  if (tls === undefined || tcp === undefined) return;
  const start = method(tls, "readStart");
  const startTcp = method(tcp, "readStart");
  const stopTcp = method(tcp, "readStop");
  if (!start || !startTcp || !stopTcp) return;
  let isStopped = false;
  Reflect.set(tls, "readStop", () => {
    isStopped = true;
    return stopTcp();
  });
  Reflect.set(tls, "readStart", () => {
    if (!isStopped) return start();
    isStopped = false;
    return startTcp();
  });
}

function property(owner: object | undefined, name: string): object | undefined {
  const value: unknown = owner && Reflect.get(owner, name);
  return typeof value === "object" && value !== null ? value : undefined;
}

function method(owner: object, name: string): (() => unknown) | undefined {
  const value: unknown = Reflect.get(owner, name);
  return typeof value === "function"
    ? () => Reflect.apply(value, owner, [])
    : undefined;
}
