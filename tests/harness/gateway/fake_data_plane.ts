import { createLogger } from "../../../src/base/log/log.ts";
import { defaultLogFilter } from "../../../src/base/log/log_filter.ts";
import {
  type CallArguments,
  type CallName,
  callOf,
  type CallPart,
  type CallResult,
} from "../../../src/dataplane/calls/calls.ts";
import type { DataPlane } from "../../../src/dataplane/data_plane.ts";
import { TrafficStore } from "../../../src/telemetry/traffic/traffic_store.ts";
import {
  MemoryPinRecords,
  PinBook,
} from "../../../src/dataplane/state/stores/pin_book.ts";
import { FakeClock } from "../time/fake_clock.ts";

/** A data plane without traffic. Its only thread returns `parts`; a call without a part has the result of no thread. */
export class FakeDataPlane implements DataPlane {
  readonly stuckWorkers = [];
  readonly keyringProblem = undefined;
  /** Set to make the calls fail. */
  failure: Error | undefined;
  readonly #parts: Partial<CallPart>;
  readonly #caller;

  constructor(parts: Partial<CallPart> = {}) {
    this.#parts = parts;
    const clock = new FakeClock();
    this.#caller = {
      clock,
      logger: createLogger({
        write() {},
        clock,
        format: "text",
        filter: defaultLogFilter,
      }),
      traffic: new TrafficStore(clock),
      keyring: undefined,
      pins: new PinBook(new MemoryPinRecords()),
    };
  }

  async call<Name extends CallName>(
    name: Name,
    ...args: CallArguments[Name]
  ): Promise<CallResult[Name]> {
    if (this.failure !== undefined) throw this.failure;
    const part = this.#parts[name];
    const results = part === undefined ? [] : [{ worker: undefined, part }];
    return await callOf(name).merge(results, this.#caller, ...args);
  }

  apply = notExpected;
  setEndpoints = notExpected;
  traceNext = notExpected;
  drain = notExpected;
}

function notExpected(): Promise<never> {
  return Promise.reject(new TypeError("not expected"));
}
