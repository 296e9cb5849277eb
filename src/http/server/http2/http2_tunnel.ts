import { createHash } from "node:crypto";
import { GatewayError } from "../../../base/errors.ts";
import type { Http2Stream } from "../../http2/http2_stream.ts";
import type { StreamBody } from "../../http2/stream_body.ts";
import type { ResponseMessage, Tunnel } from "../../message.ts";
import { writeAll } from "../../transport.ts";

const BUFFER_BYTES = 16 * 1024;
/** GUID of RFC 6455 section 1.3. */
const WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const OK = 200;

/** Listener of a tunnel. */
export interface TunnelListener {
  /** Called when bytes were sent to the client. */
  sent(count: number): void;
  /** Called when bytes of the client were passed on. */
  received(): void;
  /** Called when a chunk for the client has to wait. */
  waitingForClient(): void;
  /** Called when one side has ended. */
  halfOpened(): void;
}

/**
 * Converts the upstream's 101 to the response for the extended CONNECT of a WebSocket (RFC 8441 section 5).
 * @throws {GatewayError} If the upstream did not accept the key of the request.
 */
export function acceptWebSocket(
  response: ResponseMessage,
  key: string | undefined,
): void {
  const accepted = createHash("sha1").update(`${key}${WEBSOCKET_GUID}`)
    .digest("base64");
  const { headers } = response;
  if (headers.get("sec-websocket-accept") !== accepted) {
    throw new GatewayError(
      "upstream_protocol_error",
      "upstream",
      "Cannot open the WebSocket: Sec-WebSocket-Accept is wrong or missing",
    );
  }
  headers.delete("sec-websocket-accept");
  response.status = OK;
}

/** Creates the error for an upstream that responds to a WebSocket with another status than 101. */
export function noWebSocket(status: number): GatewayError {
  return new GatewayError(
    "upstream_protocol_error",
    "upstream",
    `Cannot open the WebSocket: the upstream responded with ${status} in place of 101`,
  );
}

/**
 * Relays bytes between a stream and an upstream connection until both sides have ended.
 * @throws The error of either side; the upstream connection is closed in any case.
 */
export async function relayTunnel(
  stream: Http2Stream,
  body: StreamBody,
  tunnel: Tunnel,
  listener: TunnelListener,
): Promise<void> {
  try {
    await Promise.all([
      relayToClient(stream, tunnel, listener).then(() => listener.halfOpened()),
      relayToUpstream(body, tunnel, listener)
        .then(() => listener.halfOpened()),
    ]);
  } finally {
    tunnel.transport.close();
  }
}

async function relayToClient(
  stream: Http2Stream,
  tunnel: Tunnel,
  listener: TunnelListener,
): Promise<void> {
  const buffer = new Uint8Array(BUFFER_BYTES);
  let chunk = tunnel.early;
  for (;;) {
    if (chunk.length > 0) {
      const written = stream.send(chunk, false);
      if (written !== undefined) {
        listener.waitingForClient();
        await written;
      }
      listener.sent(chunk.length);
    }
    const count = await tunnel.transport.read(buffer);
    if (count === null) break;
    chunk = buffer.subarray(0, count);
  }
  await stream.send(new Uint8Array(), true);
}

async function relayToUpstream(
  body: StreamBody,
  { transport }: Tunnel,
  listener: TunnelListener,
): Promise<void> {
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    await writeAll(transport, chunk);
    listener.received();
  }
  await transport.closeWrite();
}
