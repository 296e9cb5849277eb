import { GrowingBuffer } from "../../base/bytes.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { BytesBody } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { StartedBody } from "../body/started_body.ts";

/** Of a longer answer, the rest is passed on as it comes. */
const MAX_HELD_BYTES = 1024 * 1024;
/** So is one that takes longer, such as those of providers that send white space while a model works. */
const MAX_HELD_MS = 5000;

/** Reports whether a response is an answer in one piece. */
export function isWholeAnswer({ status, headers }: ResponseMessage): boolean {
  return status === 200 &&
    /^application\/json\b/i.test(headers.get("content-type") ?? "");
}

/**
 * Waits for the end of an answer, so that it can be replaced if it breaks off; its reader gets it as usual.
 * @param held Counts the bytes in memory; an answer for which there is no room is passed on as it comes.
 * @throws {GatewayError} When it breaks off.
 */
export async function awaitAnswer(
  response: ResponseMessage,
  { held, clock, cancellation }: {
    readonly held: HeldBytes | undefined;
    readonly clock: Clock;
    readonly cancellation: Cancellation;
  },
): Promise<void> {
  const { body } = response;
  if (body === undefined || body instanceof BytesBody) return;
  if ((body.length ?? 0) > MAX_HELD_BYTES) return;
  const late = Promise.withResolvers<"late">();
  const stopTimer = clock.setTimer(() => late.resolve("late"), MAX_HELD_MS);
  const unsubscribe = cancellation.onCancel((reason) => body.cancel(reason));
  const seen = new GrowingBuffer(undefined, body.length);
  const passOn = (next?: { readonly chunk: ReturnType<typeof body.read> }) => {
    response.body = new StartedBody(seen.take(), body, next, held);
  };
  try {
    while (
      seen.length <= MAX_HELD_BYTES && held?.hasRoom(seen.length) !== false
    ) {
      const pending = body.read();
      const chunk = pending instanceof Promise
        ? await Promise.race([pending, late.promise])
        : pending;
      if (chunk === "late") return passOn({ chunk: pending });
      if (chunk === undefined) return passOn({ chunk: undefined });
      held?.take(chunk.length);
      seen.append(chunk);
    }
    passOn();
  } catch (error) {
    held?.release(seen.length);
    throw cancellation.cancelled ? cancellation.reason : error;
  } finally {
    unsubscribe();
    stopTimer();
  }
}
