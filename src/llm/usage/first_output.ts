/** Events that streams begin with before the first token. */
const preamble =
  /"type"\s*:\s*"(?:message_start|content_block_start|ping|response\.(?:created|queued|in_progress))"/;

/** Longer beginnings of a stream are not searched. */
const MAX_SEARCHED = 64 * 1024;

/** Reports whether a part of a stream has output of the model: an event other than those that streams begin with, or no event at all. */
export function hasOutput(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_SEARCHED) return true;
  const text = new TextDecoder("latin1").decode(bytes);
  const events = text.split("\n").filter((line) => line.startsWith("data:"));
  return events.length === 0
    ? !/^(?:event:|:|\s*$)/.test(text)
    : events.some((event) => !preamble.test(event));
}

/** Reports whether a response of this content type arrives token by token. */
export function isTokenStream(contentType: string | undefined): boolean {
  return /^(?:text\/event-stream|application\/(?:x-ndjson|ndjson|vnd\.amazon\.eventstream))/i
    .test(contentType ?? "");
}
