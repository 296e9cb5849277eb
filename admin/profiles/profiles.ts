import type { Clock } from "../../src/base/clock.ts";
import { takeCpuProfile } from "./cpu_profile.ts";
import { HeapSampling } from "./heap_profile.ts";
import { encodePprof, type StackProfile } from "./pprof.ts";
import { type IntegerRange, readInteger } from "../query_numbers.ts";
import { respond, text } from "../admin_responses.ts";
import type { Handler } from "../router.ts";

/** What a request may ask of a CPU profile. */
export const cpuRanges = {
  seconds: { from: 1, to: 300, or: 10 },
  /** Samples per second. */
  frequency: { from: 1, to: 1000, or: 100 },
} satisfies Readonly<Record<string, IntegerRange>>;

/** What takes profiles here; each answers a gzipped pprof profile. */
export type ProfileHandlers = {
  readonly heap: Handler;
  /** On Linux only. */
  readonly cpu?: Handler;
};

/** Answers what asks where time and memory go; notes where memory is allocated as long as it lives. */
export class Profiles implements AsyncDisposable {
  readonly handlers: ProfileHandlers = {
    ...(Deno.build.os === "linux" &&
      { cpu: (request: Request) => this.#answerCpu(request) }),
    heap: () => this.#answerHeap(),
  };
  readonly #clock: Clock;
  readonly #heap = new HeapSampling();
  #isBusy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * One at a time.
   * @throws {InvalidParameter}
   */
  async #answerCpu(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const seconds = readInteger(query, "seconds", cpuRanges.seconds);
    const frequency = readInteger(query, "frequency", cpuRanges.frequency);
    if (this.#isBusy) {
      return text(409, "another profile is being taken: try again later");
    }
    this.#isBusy = true;
    try {
      const { signal } = request;
      const options = { seconds, frequency, clock: this.#clock, signal };
      const profile = await takeCpuProfile(options);
      // Nobody will read it.
      if (profile === undefined) return text(400, "cancelled");
      return await send("cpu", profile);
    } finally {
      this.#isBusy = false;
    }
  }

  /** What is in use now, and where it was allocated. */
  async #answerHeap(): Promise<Response> {
    return await send("heap", await this.#heap.take(this.#clock));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#heap[Symbol.asyncDispose]();
  }
}

async function send(name: string, profile: StackProfile): Promise<Response> {
  const body = await encodePprof(profile);
  return respond(200, "application/octet-stream", body, {
    "content-disposition": `attachment; filename="gateway-${name}.pb.gz"`,
  });
}
