import type { Tunnel } from "../../message.ts";
import { type Transport, writeAll } from "../../transport.ts";
import type { ClientInput } from "./client_input.ts";

const BUFFER_BYTES = 16 * 1024;

/** The client's side of a tunnel. */
export interface TunnelClient {
  readonly transport: Transport;
  readonly input: ClientInput;
  /** Called with the total number of bytes whenever some were sent to the client. */
  onProgress(bytesSent: number): void;
  /** Called after bytes of the client were passed on. */
  readonly onReceived: () => void;
  /** Called when one side has ended. */
  onHalfOpen(): void;
}

/**
 * Forwards bytes in both directions until both sides have ended.
 *
 * Forwards the end of one side, so that the other may still respond. Reads only as fast as it writes.
 * @throws Errors of either transport, after closing both.
 */
export async function splice(
  client: TunnelClient,
  tunnel: Tunnel,
): Promise<void> {
  try {
    await Promise.all([
      relayToClient(tunnel, client).then(() => client.onHalfOpen()),
      relayFromClient(client, tunnel.transport)
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
  { input, onReceived }: TunnelClient,
  upstream: Transport,
): Promise<void> {
  const { buffer } = input;
  do {
    if (buffer.available > 0) {
      await writeAll(upstream, buffer.take(buffer.available));
      onReceived();
    }
  } while (await input.fill());
  await upstream.closeWrite();
}
