import type { FinishedRequest } from "../log/finished_request.ts";
import { rangeSteps } from "./traffic_range.ts";
import {
  addRequest,
  createBucket,
  type TrafficBucket,
} from "./traffic_bucket.ts";

const { stepMs } = rangeSteps["15m"];

/** Counts the requests of one thread, and hands over the bucket of a span when the next one begins. */
export class TrafficRecorder {
  readonly #handOver: (bucket: TrafficBucket) => void;
  #bucket: TrafficBucket | undefined;

  constructor(handOver: (bucket: TrafficBucket) => void) {
    this.#handOver = handOver;
  }

  /** Counts a finished request. @param key Identity of the client; empty without one. */
  record(request: FinishedRequest, key: string): void {
    const end = request.time + (request.durationMs ?? 0);
    const start = end - end % stepMs;
    if (this.#bucket?.start !== start) this.#begin(start);
    if (this.#bucket !== undefined) addRequest(this.#bucket, request, key);
  }

  /** Removes and returns the bucket that is not full yet. */
  take(): TrafficBucket | undefined {
    const bucket = this.#bucket;
    this.#bucket = undefined;
    return bucket;
  }

  #begin(start: number): void {
    const bucket = this.take();
    if (bucket !== undefined) this.#handOver(bucket);
    this.#bucket = createBucket(start);
  }
}
