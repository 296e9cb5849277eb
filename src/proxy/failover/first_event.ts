import { Buffer } from "node:buffer";
import type { Cancellation } from "../../base/cancellation.ts";
import { GatewayError } from "../../base/errors.ts";
import {
  eventsOf,
  EventStream,
  readEvent,
  type ServerSentEvent,
} from "../../base/wire/event_stream.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { StartedBody } from "../body/started_body.ts";

/** Longer comments before the first event count as a start. */
const MAX_HELD_BYTES = 64 * 1024;

/** Data of an error, as servers with OpenAI's API send it; others send an event of type `error`, as Anthropic does. */
const errorData = /^ ?\{"error": ?["{]/;
const MAX_ERROR_START = 16;

const nothing: Uint8Array = new Uint8Array();

/** Reports whether a response is a stream of server-sent events. */
export function isEventStream({ status, headers }: ResponseMessage): boolean {
  return status === 200 &&
    headers.get("content-type")?.toLowerCase().startsWith(
        "text/event-stream",
      ) === true;
}

/**
 * Waits for the first bytes of a stream, and returns them; its reader gets them as usual.
 * @throws {GatewayError} When the stream fails before, or begins with an error.
 */
export async function awaitFirstEvent(
  response: ResponseMessage,
  cancellation: Cancellation,
): Promise<Uint8Array> {
  const { body } = response;
  if (body === undefined) return nothing;
  const unsubscribe = cancellation.onCancel((reason) => body.cancel(reason));
  try {
    const events = new EventStream();
    let first: Uint8Array = new Uint8Array();
    let event: ServerSentEvent | undefined;
    while (event === undefined && first.length < MAX_HELD_BYTES) {
      // Some bodies reuse the memory of a chunk.
      const known = first.slice();
      const chunk = await body.read();
      event = chunk === undefined ? lastOf(events) : firstOf(events, chunk);
      if (chunk !== undefined) first = Buffer.concat([known, chunk]);
    }
    if (event !== undefined && isError(event)) {
      body.cancel("failed over");
      throw new GatewayError(
        "upstream_protocol_error",
        "upstream",
        "The first event of the stream is an error",
      );
    }
    response.body = new StartedBody(first, body);
    return first;
  } catch (error) {
    throw cancellation.cancelled ? cancellation.reason : error;
  } finally {
    unsubscribe();
  }
}

/** Returns the first event other than comments, with which providers keep a stream open before it. */
function firstOf(
  events: EventStream,
  chunk: Uint8Array,
): ServerSentEvent | undefined {
  return events.push(chunk).values().flatMap(eventsOf).map((event) =>
    readEvent(event)
  ).find(({ isComment }) => !isComment);
}

/** Returns the event that the end of the stream cuts off. @throws {GatewayError} When it has no data. */
function lastOf(events: EventStream): ServerSentEvent {
  const event = readEvent(events.finish());
  if (event.data?.length !== 0 || isError(event)) return event;
  throw new GatewayError(
    "upstream_closed",
    "upstream",
    "The stream ended before its first event",
  );
}

function isError({ type, data }: ServerSentEvent): boolean {
  const start = data?.subarray(0, MAX_ERROR_START) ?? new Uint8Array();
  return type === "error" ||
    errorData.test(Buffer.from(start).toString("latin1"));
}
