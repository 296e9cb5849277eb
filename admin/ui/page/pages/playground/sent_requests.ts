/** Requests of the playground, each with its trace in the gateway. */
import { traceEvents } from "../../server/api.ts";
import type { TraceEvent } from "../traces/trace_events.ts";
import {
  relay,
  type Relayed,
  type RelayRequest,
  type Sender,
} from "./relay.ts";

/** A request that was sent. */
export interface Exchange {
  readonly id: number;
  /** Such as `tools/list`. */
  readonly title: string;
  readonly method: string;
  readonly url: string;
  /** `undefined` until there is a response. */
  readonly status?: number;
  readonly milliseconds?: number;
  /** Reason why there is no response. */
  readonly error?: string;
  /** Steps in the gateway; complete after the last byte. */
  readonly events: readonly TraceEvent[];
}

/** Milliseconds after which a request is sent although its trace has not begun. */
const TRACE_PATIENCE_MS = 1000;

let count = 0;

/** Sends requests and reports each exchange whenever it changes. */
export class Exchanges implements Sender {
  readonly #onChange: (exchange: Exchange) => void;
  readonly #signal: AbortSignal;
  /** Milliseconds. */
  readonly now: () => number;

  constructor(
    onChange: (exchange: Exchange) => void,
    signal: AbortSignal,
    now: () => number,
  ) {
    this.#onChange = onChange;
    this.#signal = signal;
    this.now = now;
  }

  /** Sends a request. @throws {ApiError} When there is no response. */
  async send(title: string, wanted: RelayRequest): Promise<Relayed> {
    const { method, url } = wanted;
    let exchange: Exchange = { id: ++count, title, method, url, events: [] };
    const change = (part: Partial<Exchange>) => {
      exchange = { ...exchange, ...part };
      this.#onChange(exchange);
    };
    change({});
    const traceparent = createTraceparent();
    if (wanted.port !== undefined) {
      await this.#follow(
        traceparent,
        (event) => change({ events: [...exchange.events, event] }),
      );
    }
    const start = this.now();
    try {
      const response = await relay(
        { ...wanted, headers: { ...wanted.headers, traceparent } },
        this.#signal,
      );
      const milliseconds = this.now() - start;
      change({ status: response.status, milliseconds });
      return response;
    } catch (error) {
      change({ error: String(error) });
      throw error;
    }
  }

  /** Begins to trace the request with this ID; resolves when the gateway is ready. */
  async #follow(
    traceparent: string,
    onEvent: (event: TraceEvent) => void,
  ): Promise<void> {
    const filter = `request.headers["traceparent"] == "${traceparent}"`;
    const ready = Promise.withResolvers<void>();
    const read = async () => {
      const options = { signal: this.#signal, onReady: ready.resolve };
      const query = new URLSearchParams({ filter });
      for await (const event of traceEvents(query, options)) onEvent(event);
    };
    // Without a trace, for example because too many are read, the request is sent all the same.
    read().catch(() => undefined).finally(ready.resolve);
    setTimeout(ready.resolve, TRACE_PATIENCE_MS);
    await ready.promise;
  }
}

function createTraceparent(): string {
  const random = (bytes: number) =>
    [...crypto.getRandomValues(new Uint8Array(bytes))]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `00-${random(16)}-${random(8)}-00`;
}
