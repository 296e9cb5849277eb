import { GrowingBuffer } from "../../base/bytes.ts";
import { BytesBody } from "../../http/body.ts";
import type { RequestMessage } from "../../http/message.ts";

/** Longer bodies are forwarded while they arrive. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads a short body that its client is still sending, so that it does not occupy a connection of the backend meanwhile. Without
 * memory for it, the body is forwarded as it arrives.
 * @returns `undefined` when there is nothing to wait for.
 * @throws {GatewayError} The error of the body, such as `request_timeout`.
 */
export function awaitShortBody(
  request: RequestMessage,
): Promise<void> | undefined {
  const { body, expectsContinue, upgrade, held } = request;
  if (body === undefined || body.hasArrived !== false) return undefined;
  const { length = Infinity } = body;
  const isHeld = length <= MAX_BYTES && !expectsContinue &&
    upgrade === undefined && held?.hasRoom(length) === true;
  return isHeld ? readWhole(request, length) : undefined;
}

async function readWhole(
  request: RequestMessage,
  length: number,
): Promise<void> {
  const { body, held } = request;
  const whole = new GrowingBuffer(length);
  held?.take(length);
  for (;;) {
    const chunk = await body?.read();
    if (chunk === undefined) break;
    whole.append(chunk);
  }
  request.body = new BytesBody(whole.take());
}
