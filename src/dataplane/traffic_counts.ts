import type { Clock } from "../base/clock.ts";
import type { Exchange } from "../proxy/exchange.ts";
import type { FinishedRequest } from "../telemetry/log/finished_request.ts";
import type { TrafficBucket } from "../telemetry/traffic/traffic_bucket.ts";
import { TrafficRecorder } from "../telemetry/traffic/traffic_recorder.ts";
import type {
  TrafficQuery,
  TrafficReport,
} from "../telemetry/traffic/traffic_report.ts";
import { TrafficStore } from "../telemetry/traffic/traffic_store.ts";
import { identityOf } from "./usage_row.ts";

/** Counts the traffic of a data plane. */
export class TrafficCounts {
  readonly #clock: Clock;
  readonly #recorder: TrafficRecorder;
  readonly #store: TrafficStore;

  /** @param handOver Receives buckets in place of the store, in which several data planes are counted. */
  constructor(clock: Clock, handOver?: (bucket: TrafficBucket) => void) {
    this.#clock = clock;
    this.#store = new TrafficStore(clock.now());
    this.#recorder = new TrafficRecorder(
      handOver ?? ((bucket) => this.#store.add(bucket, clock.now())),
    );
  }

  /** Counts a finished request. @param exchange `undefined` for one that was rejected before it could be read. */
  record(request: FinishedRequest, exchange?: Exchange): void {
    // The page would count its own requests.
    if (exchange?.routed.backend?.webUi !== undefined) return;
    this.#recorder.record(request, exchange ? identityOf(exchange) : "");
  }

  /** Removes and returns what was not handed over yet. */
  take(): TrafficBucket | undefined {
    return this.#recorder.take();
  }

  report(query: TrafficQuery): TrafficReport {
    const bucket = this.take();
    const now = this.#clock.now();
    if (bucket !== undefined) this.#store.add(bucket, now);
    return this.#store.report(query, now);
  }
}
