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
  type TraceTurns,
  TraceWatchers,
  type WatcherState,
} from "../../telemetry/trace/trace_watchers.ts";
import type { Exchange } from "./exchange.ts";
import { RequestTrace } from "../trace/request_trace.ts";

/** Selects the requests to trace. */
export interface TraceFilter {
  readonly filter: RequestFilter | undefined;
  /** Name of the gateway that accepts them. */
  readonly gateway: string | undefined;
  /** As configured. */
  readonly port: number | undefined;
  readonly count: number;
  /** See `Watching`. */
  readonly group?: string | undefined;
  /** Coordinates this thread with others that trace the same. */
  readonly turns?: TraceTurns | undefined;
}

/** Dependencies of tracing. */
export interface TracingOptions {
  readonly clock: Clock;
  /** In lower case. */
  readonly sensitiveHeaders: ReadonlySet<string>;
}

/** Assigns requests to the watchers that want them. */
export class Tracing {
  readonly #options: TracingOptions;
  readonly #watchers = new TraceWatchers<Exchange>();
  readonly #names = new WeakMap<Snapshot, SensitiveNames>();

  constructor(options: TracingOptions) {
    this.#options = options;
  }

  /** Starts the trace of a request that has just arrived; returns `undefined` when no watcher wants it. */
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

  /** Starts a stream; returns `undefined` when there are too many. */
  watch(
    { filter, gateway, port, count, group, turns }: TraceFilter,
  ): TraceStream | undefined {
    return this.#watchers.watch({
      count,
      group,
      turns,
      wants: (exchange) =>
        (port === undefined || exchange.port === port) &&
        (gateway === undefined || gatewayOf(exchange) === gateway) &&
        (filter === undefined || filter(exchange.context)),
    });
  }

  /** Lists the current watchers. */
  watchers(): readonly WatcherState[] {
    return this.#watchers.describe();
  }

  /** Starts no further trace; those that are under way end as usual. */
  stopAccepting(): void {
    this.#watchers.stopAccepting();
  }

  /** Ends all streams. */
  close(): void {
    this.#watchers.close();
  }

  /** Creates the redactor for requests that a configuration handles. */
  createRedactor(snapshot: Snapshot): TraceRedactor {
    const known = this.#names.get(snapshot);
    if (known !== undefined) return new TraceRedactor(known);
    const { headers, parameters, contents } = snapshot.credentials;
    const names = new SensitiveNames(
      this.#options.sensitiveHeaders.union(headers),
      sensitiveParameters.union(parameters),
      contents,
    );
    this.#names.set(snapshot, names);
    return new TraceRedactor(names);
  }
}

/** Returns the gateway whose listener will accept the request. */
function gatewayOf({ listeners, routed }: Exchange): string | undefined {
  return selectListener(listeners, routed.hostname)?.gateway;
}
