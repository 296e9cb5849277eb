import { Buffer } from "node:buffer";
import type { Cancellation } from "../../base/cancellation.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** Longer comments before the first event count as a start. */
const MAX_HELD_BYTES = 64 * 1024;

/** Starts of a stream whose first event is an error, as Anthropic sends it, or as servers with OpenAI's API do. */
const errorStarts = [
  ...["event: error", "event:error"].flatMap((
    field,
  ) => [`${field}\n`, `${field}\r`]),
  ...["data: ", "data:"].flatMap((data) =>
    ["{", '"', " {", ' "'].map((value) => `${data}{"error":${value}`)
  ),
].map((start) => new TextEncoder().encode(start));

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
    let first = await readMore(body);
    let event = skipComments(first);
    // The start of an event may come in pieces.
    while (
      first.length < MAX_HELD_BYTES &&
      errorStarts.some((start) => isLonger(start, event))
    ) {
      // Some bodies reuse the memory of a chunk.
      const known = first.slice();
      first = Buffer.concat([known, await readMore(body)]);
      event = skipComments(first);
    }
    if (errorStarts.some((start) => startsWith(event, start))) {
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

const COLON = 0x3a;
const LF = 0x0a;
const CR = 0x0d;

/** Returns what follows comments and empty lines, with which providers keep a stream open before its first event. */
function skipComments(bytes: Uint8Array): Uint8Array {
  let start = 0;
  for (;;) {
    const byte = bytes[start];
    if (byte === LF || byte === CR) start++;
    else if (byte === COLON) {
      const rest = bytes.subarray(start);
      const end = rest.findIndex((each) => each === LF || each === CR);
      if (end < 0) return rest.subarray(rest.length);
      start += end;
    } else return bytes.subarray(start);
  }
}

/** @throws {GatewayError} When the stream has ended. */
async function readMore(body: Body): Promise<Uint8Array> {
  const chunk = await body.read();
  if (chunk !== undefined) return chunk;
  throw new GatewayError(
    "upstream_closed",
    "upstream",
    "The stream ended before its first event",
  );
}

/** Reports whether bytes are the beginning of a start that has more. */
function isLonger(start: Uint8Array, bytes: Uint8Array): boolean {
  return bytes.length < start.length && startsWith(start, bytes);
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

/** A body whose first chunk has been read. */
class StartedBody implements Body {
  readonly length: number | undefined;
  readonly #rest: Body;
  #first: Uint8Array | undefined;

  constructor(first: Uint8Array, rest: Body) {
    this.length = rest.length;
    this.#rest = rest;
    this.#first = first;
  }

  get trailers(): HeaderList | undefined {
    return this.#rest.trailers;
  }

  read(): ReturnType<Body["read"]> {
    const first = this.#first;
    this.#first = undefined;
    return first ?? this.#rest.read();
  }

  cancel(reason: unknown): void {
    this.#first = undefined;
    this.#rest.cancel(reason);
  }
}
