import { utf8 } from "../../base/bytes.ts";
import { GatewayError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import { BoundedJson } from "../../base/json/bounded_json.ts";
import type { Body } from "../../http/body.ts";
import { AwsEventStream } from "../../llm/format/aws_event_stream.ts";
import {
  eventsOf,
  EventStream,
  readEventData,
} from "../../base/wire/event_stream.ts";
import { UnknownAnswerError } from "../../llm/translation/conversation/answer_fields.ts";
import type { AnswerEvent } from "../../llm/translation/conversation/conversation.ts";
import type { Translation } from "../../llm/translation/translation.ts";

/** An event of a provider is a few words, or the arguments of a call; a longer one is not held. */
const MAX_EVENT_BYTES = 1024 * 1024;
const MAX_EVENT_VALUES = 10_000;

/** Events that have arrived together are written together, up to so much. */
const MAX_TEXT_LENGTH = 16 * 1024;

interface Parts extends Pick<Translation, "reader" | "writer"> {
  /** Resolves when the end of the answer may be written. */
  readonly kept?: (() => Promise<void>) | undefined;
}

/** A stream of a provider in the form of the client's API, event by event. */
export class TranslatedBody implements Body {
  readonly length = undefined;
  readonly trailers = undefined;
  readonly #source: Body;
  readonly #translation: Parts;
  readonly #decoder: { push(bytes: Uint8Array): void };
  #text = "";
  /** Read of the source that had nothing at hand. */
  #pending: Promise<Uint8Array | undefined> | undefined;
  /** Comes after the events before it. */
  #failure: { readonly error: unknown } | undefined;
  /** The provider said that the answer is complete, or why it failed. */
  #isComplete = false;
  #isOver = false;

  /** @param contentType Of the provider's response. */
  constructor(
    source: Body,
    contentType: string,
    translation: Parts,
  ) {
    this.#source = source;
    this.#translation = translation;
    const onData = (data: string) => this.#take(data);
    this.#decoder = contentType.startsWith("application/vnd.amazon.eventstream")
      ? new AwsEventStream((payload) =>
        onData(new TextDecoder().decode(payload))
      )
      : new ServerSentEvents(onData);
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#failure !== undefined) throw this.#failure.error;
    while (!this.#isOver && this.#text.length < MAX_TEXT_LENGTH) {
      const next = this.#pending ?? this.#source.read();
      if (next instanceof Promise && this.#text !== "") {
        this.#pending = next;
        // The next read reports it.
        next.catch(() => {});
        break;
      }
      this.#pending = undefined;
      const chunk = next instanceof Promise ? await next : next;
      try {
        if (chunk === undefined) await this.#end();
        else this.#decoder.push(chunk);
      } catch (error) {
        this.#isOver = true;
        this.#source.cancel(error);
        this.#failure = { error: toInvalidResponse(error) };
      }
    }
    if (this.#text === "") {
      if (this.#failure !== undefined) throw this.#failure.error;
      return undefined;
    }
    const text = this.#text;
    this.#text = "";
    return utf8(text);
  }

  cancel(reason: unknown): void {
    this.#isOver = true;
    this.#source.cancel(reason);
  }

  #take(data: string): void {
    if (data === "" || data.trim() === "[DONE]") return;
    const event = BoundedJson.parse(data, MAX_EVENT_VALUES);
    if (!isJsonObject(event)) throw new UnknownAnswerError("no JSON object");
    this.#write(this.#translation.reader.event(event));
  }

  #write(events: readonly AnswerEvent[]): void {
    for (const event of events) {
      if (event.type === "finish" || event.type === "error") {
        this.#isComplete = true;
      }
      this.#text += this.#translation.writer.event(event);
    }
  }

  async #end(): Promise<void> {
    this.#isOver = true;
    this.#write(this.#translation.reader.end());
    if (!this.#isComplete) {
      throw new GatewayError(
        "upstream_closed",
        "upstream",
        "The stream of the provider ended before the answer was complete",
      );
    }
    const end = this.#translation.writer.end();
    await this.#translation.kept?.();
    this.#text += end;
  }
}

/** Converts an error of reading an answer. */
export function toInvalidResponse(error: unknown): unknown {
  if (!(error instanceof UnknownAnswerError)) return error;
  return new GatewayError(
    "llm_response_invalid",
    "upstream",
    `Cannot translate the answer of the provider: ${error.message}`,
  );
}

/** Reads the data of the events of a stream. */
class ServerSentEvents {
  readonly #stream = new EventStream();
  readonly #onData: (data: string) => void;

  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  push(bytes: Uint8Array): void {
    for (const events of this.#stream.push(bytes)) {
      for (const event of eventsOf(events)) this.#onData(readEventData(event));
    }
    if (this.#stream.pending > MAX_EVENT_BYTES) {
      throw new UnknownAnswerError("an event that is too long");
    }
  }
}
