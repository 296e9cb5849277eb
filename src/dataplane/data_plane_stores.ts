import { UnsettledCounts } from "../proxy/metering/meter/unsettled_counts.ts";
import type { CountedOutputs } from "../llm/batch/counted_outputs.ts";
import type { StoredResponses } from "../llm/responses/stored_responses.ts";
import {
  type TrafficNews,
  TrafficRecorder,
} from "../telemetry/traffic/traffic_recorder.ts";
import { TrafficStore } from "../telemetry/traffic/traffic_store.ts";
import type { Keyring } from "./keyring/keyring.ts";
import {
  createCountedOutputs,
  createKeyring,
  createPinBook,
  createStoredResponses,
  createUsageBook,
  type KvStoreOptions,
} from "./state/stores/kv_stores.ts";
import type { PinBook } from "./state/stores/pin_book.ts";

/** Dependencies of the stores of a data plane. */
export interface DataPlaneStoresOptions extends KvStoreOptions {
  /** Set where several data planes share their state. */
  readonly shared?: { readonly responses: StoredResponses };
  /** Receives what a data plane of several has counted; by default, this one remembers it. */
  readonly onTraffic?: (news: TrafficNews) => void;
  /** Shared by several data planes; by default, this one has its own. */
  readonly counted?: CountedOutputs;
}

/** Keeps what outlives a configuration and a request, in memory or in `config.kv`. */
export class DataPlaneStores {
  readonly traffic: TrafficStore;
  readonly recorder: TrafficRecorder;
  readonly unsettled: UnsettledCounts;
  readonly counted: CountedOutputs;
  readonly responses: StoredResponses;
  /** `undefined` without `config.kv`, and where data planes share one. */
  readonly keyring: Keyring | undefined;
  readonly pins: PinBook;

  /** @param onApproval Called when another process has approved tools. */
  constructor(options: DataPlaneStoresOptions, onApproval: () => void) {
    const { clock, counted, onTraffic, shared } = options;
    this.traffic = new TrafficStore(
      clock,
      onTraffic === undefined ? createUsageBook(options) : undefined,
    );
    this.recorder = new TrafficRecorder(
      clock,
      onTraffic ?? ((news) => this.traffic.add(news)),
    );
    this.unsettled = new UnsettledCounts(clock);
    this.counted = counted ?? createCountedOutputs(options);
    this.responses = shared?.responses ?? createStoredResponses(options);
    this.keyring = shared === undefined ? createKeyring(options) : undefined;
    this.pins = createPinBook(options, onApproval);
  }

  /** Resolves when the responses that clients have received are counted, and passed to the thread that remembers the traffic. */
  async settle(): Promise<void> {
    await this.unsettled.settled();
    this.recorder.send();
  }

  async close(): Promise<void> {
    await this.traffic.close();
    await this.counted.close();
    await this.responses.close();
    await this.keyring?.close();
    await this.pins.close();
  }
}
