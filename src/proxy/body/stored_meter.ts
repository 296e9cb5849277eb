import type { Cancellation } from "../../base/cancellation.ts";
import type { RequestMessage, ResponseMessage } from "../../http/message.ts";
import {
  type ContentDecoder,
  createDecoder,
  responseLimits,
} from "../../llm/format/content_decoder.ts";
import { BatchObjectUsage, ResultsUsage } from "../../llm/batch/batch_usage.ts";
import type { StoredOutput } from "../../llm/batch/stored_output.ts";
import type { TokenUsage } from "../../llm/usage/token_usage.ts";
import { createUsageScanner } from "../../llm/usage/usage_scanner.ts";
import {
  addMeteredUsage,
  type MeteredUsage,
} from "../../llm/usage/metered_usage.ts";
import type { UsageListeners } from "../../policy/contract/request_listeners.ts";
import { MeteredBody, outlive } from "./metered_body.ts";
import {
  outputKey,
  type UsageMeter,
  type UsageMeterOptions,
} from "./usage_meter.ts";

/** Dependencies of the meter of an output that is read again. */
export interface StoredMeterOptions extends UsageMeterOptions {
  /** Receives what each model of a batch used. */
  onUsed(usage: MeteredUsage): void;
}

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

/** Charges an output to its first reader: a response that ran in the background, or a batch. */
export class StoredMeter implements UsageMeter {
  readonly api: "responses" | undefined;
  readonly firstOutputAt: undefined;
  readonly closedBy: undefined;
  readonly countsParts = true;
  readonly #output: StoredOutput;
  readonly #options: StoredMeterOptions;
  readonly #listeners: UsageListeners["listeners"];
  #charged = 0;
  #usage: MeteredUsage | undefined;
  #reading: Promise<void> | undefined;
  #counting: Promise<void> | undefined;
  #cancellation: Cancellation | undefined;
  #isUncounted = false;

  constructor(
    output: StoredOutput,
    options: StoredMeterOptions,
    listeners: Pick<UsageListeners, "listeners"> = { listeners: [] },
  ) {
    this.api = output.kind === "response" ? "responses" : undefined;
    this.#output = output;
    this.#options = options;
    this.#listeners = listeners.listeners;
  }

  get usage(): MeteredUsage | undefined {
    return this.#usage;
  }

  get counting(): Promise<void> | undefined {
    return this.#counting;
  }

  get cancellation(): Cancellation | undefined {
    return this.#cancellation;
  }

  get uncounted(): { readonly model: undefined } | undefined {
    return this.#isUncounted ? { model: undefined } : undefined;
  }

  async prepare({ headers, cancellation }: RequestMessage): Promise<void> {
    const { prices, counted, clock } = this.#options;
    if (!prices.isLoaded) await prices.load();
    if (this.#hasBudget) {
      // A client that leaves before the usage has the output nevertheless.
      this.#cancellation = outlive(cancellation, clock);
      // The whole output is read, and without limits of decoding.
      for (const name of rangeFields) headers.delete(name);
      headers.set("accept-encoding", "identity");
    }
    if (this.#output.kind !== "results") return;
    this.#charged = await counted.count(outputKey(this.#options, this.#output));
  }

  watch(response: ResponseMessage): void {
    const { body, headers, status, tunnel } = response;
    this.#isUncounted = tunnel !== undefined && this.#hasBudget;
    if (body === undefined || status >= 300) return;
    const reader = this.#createReader(headers.getJoined("content-type"));
    if (reader === undefined) return;
    const coding = headers.getJoined("content-encoding") ?? "identity";
    const sink = (bytes: Uint8Array) => reader.push(bytes);
    const decoder = createDecoder(coding, sink, responseLimits);
    if (decoder === undefined || status === PARTIAL_CONTENT) {
      this.#isUncounted = this.#hasBudget;
      return;
    }
    const end = (isComplete: boolean) => {
      this.#reading = this.#end(reader, decoder, isComplete);
      this.#counting ??= this.#reading;
    };
    const drain = this.#cancellation && {
      clock: this.#options.clock,
      isNeeded: () => true,
      started: (draining: Promise<void>) => {
        this.#counting = draining.then(() => this.#reading);
      },
    };
    const metering = { sink: decoder, filter: undefined, end, drain };
    response.body = new MeteredBody(body, metering);
  }

  get #hasBudget(): boolean {
    return this.#listeners.length > 0;
  }

  /** Does nothing: the output was not read. */
  abandon(): void {}

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
    this.#isUncounted = !isDecoded && this.#hasBudget;
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
    this.#report();
  }

  #settle(usages: readonly TokenUsage[]): void {
    const { prices, priceHost: host, onUsed } = this.#options;
    for (const usage of usages) {
      const served = { model: usage.responseModel, host };
      const used = { ...usage, served, cost: prices.price(served, usage) };
      onUsed(used);
      this.#usage = this.#usage === undefined
        ? used
        : addMeteredUsage(this.#usage, used);
    }
  }

  #report(): void {
    if (this.#usage === undefined) return;
    for (const listener of this.#listeners) listener.settle(this.#usage);
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
