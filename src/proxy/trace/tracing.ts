import type { Clock } from "../../base/clock.ts";
import { sensitiveParameters } from "../../base/redaction.ts";
import type { RequestFilter } from "../../policy/http/request_filter.ts";
import { selectListener } from "../../route/hostname.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import {
  SensitiveNames,
  TraceRedactor,
} from "../../telemetry/trace/trace_redactor.ts";
import {
  type TraceStream,
  TraceWatchers,
  type WatcherState,
} from "../../telemetry/trace/trace_watchers.ts";
import type { Exchange } from "../exchange.ts";
import { RequestTrace } from "./request_trace.ts";

/** Which requests somebody wants to see. */
export interface Wanted {
  readonly filter: RequestFilter | undefined;
  /** Name of the gateway that accepts them. */
  readonly gateway: string | undefined;
  /** As configured. */
  readonly port: number | undefined;
  readonly count: number;
}

/** What tracing needs of its surroundings. */
export interface TracingOptions {
  readonly clock: Clock;
  /** In lower case. */
  readonly sensitiveHeaders: ReadonlySet<string>;
}

/** Hands requests to those who watch. */
export class Tracing {
  readonly #options: TracingOptions;
  readonly #watchers = new TraceWatchers<Exchange>();
  readonly #names = new WeakMap<Snapshot, SensitiveNames>();

  constructor(options: TracingOptions) {
    this.#options = options;
  }

  /** The trace of a request that has just arrived; `undefined` when nobody watches it. */
  begin(exchange: Exchange): RequestTrace | undefined {
    if (!this.#watchers.isWatched) return undefined;
    const emit = this.#watchers.take(exchange);
    if (emit === undefined) return undefined;
    const { clock, sensitiveHeaders } = this.#options;
    const redactor = this.createRedactor(exchange.snapshot);
    return new RequestTrace(exchange, {
      clock,
      sensitiveHeaders,
      redactor,
      emit,
    });
  }

  /** `undefined` when there are too many already. */
  watch({ filter, gateway, port, count }: Wanted): TraceStream | undefined {
    return this.#watchers.watch({
      count,
      wants: (exchange) =>
        (port === undefined || exchange.port === port) &&
        (gateway === undefined || gatewayOf(exchange) === gateway) &&
        (filter === undefined || filter(exchange)),
    });
  }

  /** Those who watch now. */
  watchers(): readonly WatcherState[] {
    return this.#watchers.describe();
  }

  /** No request is taken from now on; those that are traced end as usual. */
  turnAway(): void {
    this.#watchers.turnAway();
  }

  /** Ends all streams. */
  close(): void {
    this.#watchers.close();
  }

  /** What takes the secrets out of a request that was handled by this configuration. */
  createRedactor(snapshot: Snapshot): TraceRedactor {
    const known = this.#names.get(snapshot);
    if (known !== undefined) return new TraceRedactor(known);
    const { headers, parameters } = snapshot.credentials;
    const names = new SensitiveNames(
      this.#options.sensitiveHeaders.union(headers),
      sensitiveParameters.union(parameters),
    );
    this.#names.set(snapshot, names);
    return new TraceRedactor(names);
  }
}

/** Of the listener that will accept it. */
function gatewayOf(
  { listeners, hostname }: Exchange,
): string | undefined {
  return selectListener(listeners, hostname)?.gateway;
}
