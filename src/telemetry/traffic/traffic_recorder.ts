import type { Clock } from "../../base/clock.ts";
import type { FinishedRequest, RequestUse } from "../log/finished_request.ts";
import { addRequest, addTokens } from "./request_sums.ts";
import {
  type CopiedRequest,
  countCopy,
  countInBucket,
  createBucket,
  type TrafficBucket,
} from "./traffic_bucket.ts";
import { rangeSteps } from "./traffic_range.ts";
import { startOf } from "./summed_usage.ts";
import {
  OTHER,
  type UsageRow,
  type UsageRowName,
  UsageTable,
} from "./usage_table.ts";

/** The requests of one thread since its last news; plain data, so that threads can send it. */
export interface TrafficNews {
  readonly buckets: readonly TrafficBucket[];
  readonly usage: readonly UsageRow[];
}

const SEND_MS = 500;
/** Tools of an hour that are counted by name: clients may call any. */
const MAX_TOOLS = 1000;
const { stepMs } = rangeSteps["15m"];

/** Counts the requests of one thread, and passes the counts on twice a second. */
export class TrafficRecorder {
  readonly #clock: Clock;
  readonly #onNews: (news: TrafficNews) => void;
  readonly #usage = new UsageTable();
  readonly #tools = new Set<string>();
  #toolsSince = 0;
  #buckets: TrafficBucket[] = [];
  #cancelTimer: (() => void) | undefined;

  constructor(clock: Clock, onNews: (news: TrafficNews) => void) {
    this.#clock = clock;
    this.#onNews = onNews;
  }

  /** Counts a finished request. */
  record(request: FinishedRequest): void {
    const end = request.time + (request.durationMs ?? 0);
    countInBucket(this.#bucketOf(end - end % stepMs), request);
    this.#recordUsage(request);
    this.#sendSoon();
  }

  /** Counts the copy of a request, also among what nobody in particular used. */
  recordCopy(copy: CopiedRequest): void {
    const { time, route, usage } = copy;
    countCopy(this.#bucketOf(time - time % stepMs), copy);
    this.recordPart({ time, client: "", route, usage });
  }

  /** Counts a part of what a request uses that is still open: `countedInParts` of its record is true. */
  recordPart(part: RequestUse): void {
    const sums = this.#usage.sumsOf(this.#nameOf(part));
    if (part.usage !== undefined) addTokens(sums, part.usage);
    this.#sendSoon();
  }

  /** Passes on what was counted since the last time. */
  send(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const buckets = this.#buckets;
    const usage = this.#usage.take();
    if (buckets.length === 0 && usage.length === 0) return;
    this.#buckets = [];
    this.#onNews({ buckets, usage });
  }

  #bucketOf(start: number): TrafficBucket {
    const last = this.#buckets.at(-1);
    if (last?.start === start) return last;
    const bucket = createBucket(start);
    this.#buckets.push(bucket);
    return bucket;
  }

  #recordUsage(request: FinishedRequest): void {
    const { usage, uncounted, mcp, status } = request;
    // A call that a rule denies may have status 200.
    const isCall = mcp?.tool !== undefined && status < 400 &&
      request.upstreamDurationMs !== undefined;
    if (usage === undefined && uncounted === undefined && !isCall) return;
    addRequest(
      this.#usage.sumsOf(this.#nameOf(request)),
      request.countedInParts ? { ...request, usage: undefined } : request,
    );
  }

  #nameOf(request: RequestUse): UsageRowName {
    const { owner, backend, usage, uncounted, mcp } = request;
    const start = startOf("hour", request.time);
    const model = uncounted === undefined
      ? usage?.responseModel
      : uncounted.model;
    const tool = mcp?.tool?.name ?? "";
    return {
      start,
      key: request.client,
      user: owner?.user ?? "",
      team: owner?.team ?? "",
      tag: owner?.tag ?? "",
      model: model ?? "",
      provider: request.provider ?? "",
      route: request.route ?? "",
      server: tool === "" ? "" : mcp?.server ?? backend ?? "",
      tool: this.#isCounted(tool, start) ? tool : OTHER,
    };
  }

  #isCounted(tool: string, hour: number): boolean {
    if (tool === "") return true;
    if (hour !== this.#toolsSince) {
      this.#toolsSince = hour;
      this.#tools.clear();
    }
    if (this.#tools.size >= MAX_TOOLS) return this.#tools.has(tool);
    this.#tools.add(tool);
    return true;
  }

  #sendSoon(): void {
    this.#cancelTimer ??= this.#clock.setTimer(() => this.send(), SEND_MS);
  }
}
