import type { Tunnel } from "../../message.ts";
import { type Transport, writeAll } from "../../transport.ts";
import type { ClientInput } from "./client_input.ts";

const BUFFER_BYTES = 16 * 1024;

/** The client's side of a tunnel. */
export interface TunnelClient {
  readonly transport: Transport;
  readonly input: ClientInput;
  /** Called with all bytes so far whenever the client was sent some. */
  onProgress(bytesSent: number): void;
  /** Called when the first side ended. */
  onHalfOpen(): void;
}

/**
 * Passes bytes both ways until both sides ended.
 *
 * A side that ends is passed on as such, so that the other may still answer. Reads only what could be written.
 * @throws What either transport throws; both are closed then.
 */
export async function splice(
  client: TunnelClient,
  tunnel: Tunnel,
): Promise<void> {
  try {
    await Promise.all([
      relayToClient(tunnel, client).then(() => client.onHalfOpen()),
      relayFromClient(client.input, tunnel.transport)
        .then(() => client.onHalfOpen()),
    ]);
  } finally {
    client.transport.close();
    tunnel.transport.close();
  }
}

async function relayToClient(
  tunnel: Tunnel,
  client: TunnelClient,
): Promise<void> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  let sent = 0;
  let chunk = tunnel.early;
  for (;;) {
    if (chunk.length > 0) {
      await writeAll(client.transport, chunk);
      client.onProgress(sent += chunk.length);
    }
    const count = await tunnel.transport.read(buffer);
    if (count === null) break;
    chunk = buffer.subarray(0, count);
  }
  await client.transport.closeWrite();
}

async function relayFromClient(
  input: ClientInput,
  upstream: Transport,
): Promise<void> {
  const { buffer } = input;
  do {
    if (buffer.available > 0) {
      await writeAll(upstream, buffer.take(buffer.available));
    }
  } while (await input.fill());
  await upstream.closeWrite();
}
