import type { Cancellation } from "../../../base/cancellation.ts";
import type { RequestMessage, ResponseMessage } from "../../../http/message.ts";
import {
  BatchObjectUsage,
  ResultsUsage,
} from "../../../llm/batch/batch_usage.ts";
import {
  isBatchControl,
  outputKey,
  readStoredOutput,
  type StoredOutput,
} from "../../../llm/batch/stored_output.ts";
import {
  type ContentDecoder,
  createDecoder,
  responseLimits,
} from "../../../llm/format/content_decoder.ts";
import { addUsage, type TokenUsage } from "../../../llm/usage/token_usage.ts";
import { createUsageScanner } from "../../../llm/usage/usage_scanner.ts";
import type {
  UsageListener,
  UsageListeners,
} from "../../../policy/contract/request_listeners.ts";
import { MeteredBody, outlive } from "../../body/metered_body.ts";
import {
  type MeteredRequest,
  type MeterOptions,
  priceUsage,
  RequestCounts,
  UnknownUsage,
  type UsageMeter,
} from "../meter/usage_meter.ts";

/** Usage that a reader found in an output. */
interface Findings {
  readonly id: string;
  /** Number of parts that are charged then. */
  readonly to: number;
  readonly usages: readonly TokenUsage[];
}

/** Looks for usage in the content of a response. */
interface Reader {
  push(bytes: Uint8Array): void;
  finish(isComplete: boolean): readonly Findings[];
}

/** Results of a batch count until their last line: more than any batch has. */
const ALL_LINES = 2 ** 31 - 1;
const PARTIAL_CONTENT = 206;
const rangeFields = ["range", "if-range"];

/** Meters requests that read a stored output; those that create or cancel a batch use nothing. */
export function meterOfStored(
  { originalRequest, request: { method, target } }: MeteredRequest,
  options: MeterOptions,
  budgets: UsageListeners | undefined,
): UsageMeter | "uncounted" | undefined {
  const output = readStoredOutput(method, target);
  if (output !== undefined) {
    return new StoredMeter(output, options, budgets?.listeners);
  }
  if (originalRequest.method !== "POST" || !isBatchControl(method, target)) {
    return undefined;
  }
  if (budgets?.rules.deniesUnknown !== true) return "uncounted";
  throw new UnknownUsage("those of a batch are counted when it is read");
}

/** Charges an output to its first reader: a response that ran in the background, or a batch. */
class StoredMeter implements UsageMeter {
  readonly api: "responses" | undefined;
  readonly countsParts = true;
  readonly counts = new RequestCounts();
  cancellation: Cancellation | undefined;
  readonly #output: StoredOutput;
  readonly #options: MeterOptions;
  readonly #listeners: readonly UsageListener[];
  #charged = 0;
  #reading: Promise<void> | undefined;

  constructor(
    output: StoredOutput,
    options: MeterOptions,
    listeners: readonly UsageListener[] = [],
  ) {
    this.api = output.kind === "response" ? "responses" : undefined;
    this.#output = output;
    this.#options = options;
    this.#listeners = listeners;
  }

  async prepare({ headers, cancellation }: RequestMessage): Promise<void> {
    const { prices, counted, clock } = this.#options;
    if (!prices.isLoaded) await prices.load();
    if (this.#listeners.length > 0) {
      // A client that leaves before the usage has the output nevertheless.
      this.cancellation = outlive(cancellation, clock);
      // The whole output is read, and without limits of decoding.
      for (const name of rangeFields) headers.delete(name);
      headers.set("accept-encoding", "identity");
    }
    if (this.#output.kind !== "results") return;
    this.#charged = await counted.count(outputKey(this.#options, this.#output));
  }

  watch(response: ResponseMessage): void {
    const { body, headers, status, tunnel } = response;
    if (tunnel !== undefined) this.#cannotCount();
    if (body === undefined || status >= 300) return;
    const reader = this.#createReader(headers.getJoined("content-type"));
    if (reader === undefined) return;
    const coding = headers.getJoined("content-encoding") ?? "identity";
    const sink = (bytes: Uint8Array) => reader.push(bytes);
    const decoder = createDecoder(coding, sink, responseLimits);
    if (decoder === undefined || status === PARTIAL_CONTENT) {
      this.#cannotCount();
      return;
    }
    const { counts } = this;
    response.body = new MeteredBody(body, {
      sink: decoder,
      end: (isComplete) => {
        this.#reading = this.#end(reader, decoder, isComplete);
        counts.counting ??= this.#reading;
      },
      drain: this.cancellation && {
        clock: this.#options.clock,
        isNeeded: () => true,
        started: (draining) => {
          counts.counting = draining.then(() => this.#reading);
        },
      },
    });
  }

  /** Does nothing: the output was not read. */
  abandon(): void {}

  #cannotCount(): void {
    if (this.#listeners.length === 0) return;
    this.counts.uncounted = { model: undefined };
  }

  #createReader(contentType: string | undefined): Reader | undefined {
    const { kind, id } = this.#output;
    if (kind === "response") return responseReader(contentType);
    return kind === "results"
      ? resultsReader(id, this.#charged)
      : batchReader(id);
  }

  async #end(
    reader: Reader,
    decoder: ContentDecoder,
    isComplete: boolean,
  ): Promise<void> {
    const isDecoded = await decoder.finish();
    if (!isDecoded) this.#cannotCount();
    const { counted } = this.#options;
    const { kind } = this.#output;
    for (const { id, to, usages } of reader.finish(isComplete && isDecoded)) {
      if (usages.length === 0) continue;
      const key = outputKey(this.#options, { kind, id });
      // The rest of results that were read in part is charged to who reads it.
      if (to === ALL_LINES && await counted.count(key) > 0) continue;
      // If others have read a part in the meantime, it is not known which lines those are: rather twice than never.
      if (await counted.claim(key, to) < to) this.#settle(usages);
    }
    const { usage } = this.counts;
    if (usage === undefined) return;
    for (const listener of this.#listeners) listener.settle(usage);
  }

  #settle(usages: readonly TokenUsage[]): void {
    for (const usage of usages) {
      const used = priceUsage(this.#options, usage);
      this.#options.onUsed(used);
      this.counts.usage = addUsage(this.counts.usage, used);
    }
  }
}

function responseReader(contentType: string | undefined): Reader | undefined {
  const scanner = createUsageScanner({ api: "responses", contentType });
  return scanner && {
    push: (bytes) => scanner.push(bytes),
    finish(isComplete) {
      const usage = isComplete ? scanner.finish() : undefined;
      const { backgroundId: id } = scanner;
      if (id === undefined || usage === undefined || usage.estimated) return [];
      return [{ id, to: 1, usages: [usage] }];
    },
  };
}

function batchReader(id: string): Reader {
  const batch = new BatchObjectUsage();
  return {
    push: (bytes) => batch.push(bytes),
    finish: () =>
      batch.finish().map(({ lines = ALL_LINES, usages, ...found }) => ({
        id: found.id ?? id,
        to: lines,
        usages,
      })),
  };
}

function resultsReader(id: string, charged: number): Reader {
  const results = new ResultsUsage(charged);
  return {
    push: (bytes) => results.push(bytes),
    finish: () => [{ id, to: results.lines, usages: results.usages }],
  };
}
