import type { Clock } from "../../base/clock.ts";
import { eventsOf, readEventData } from "../../base/wire/event_stream.ts";
import type { ContentDecoder } from "../format/content_decoder.ts";

/** Events that streams begin with before the first token. */
const preamble =
  /"type"\s*:\s*"(?:message_start|content_block_start|ping|response\.(?:created|queued|in_progress))"/;

/** Longer beginnings of a stream are not searched. */
const MAX_SEARCHED = 64 * 1024;

/** Reports whether a part of a stream has output of the model: an event other than those that streams begin with, or no event at all. */
export function hasOutput(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_SEARCHED) return true;
  const data = [...eventsOf(bytes)].map(readEventData).filter(Boolean);
  return data.length === 0
    ? !/^(?:event:|:|\s*$)/.test(new TextDecoder("latin1").decode(bytes))
    : data.some((each) => !preamble.test(each));
}

/** Returns the decoder of a stream, which also records the time of the first output in `counts`. */
export function timedOutput(
  decoder: Pick<ContentDecoder, "push">,
  coding: string,
  counts: { firstOutputAt: number | undefined },
  clock: Pick<Clock, "monotonic">,
): Pick<ContentDecoder, "push"> {
  return {
    push(bytes) {
      if (counts.firstOutputAt === undefined) {
        const isOutput = coding !== "identity" || hasOutput(bytes);
        if (isOutput) counts.firstOutputAt = clock.monotonic();
      }
      decoder.push(bytes);
    },
  };
}

/** Reports whether a response of this content type arrives token by token. */
export function isTokenStream(contentType: string | undefined): boolean {
  return /^(?:text\/event-stream|application\/(?:x-ndjson|ndjson|vnd\.amazon\.eventstream))/i
    .test(contentType ?? "");
}
