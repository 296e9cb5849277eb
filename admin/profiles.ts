import type { Clock } from "../src/base/clock.ts";
import { takeCpuProfile } from "./cpu_profile.ts";
import { HeapSampling } from "./heap_profile.ts";
import { encodePprof, type StackProfile } from "./pprof.ts";
import { readInteger } from "./query.ts";
import { stream, text } from "./respond.ts";

/** Answers what asks where time and memory go. */
export class Profiles implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #heap: HeapSampling | undefined;
  #isBusy = false;

  /** @param samplesHeap Whether a heap profile may be asked for later. */
  constructor(clock: Clock, samplesHeap: boolean) {
    this.#clock = clock;
    this.#heap = samplesHeap ? new HeapSampling() : undefined;
  }

  /**
   * Samples for `seconds`, 10 unless given, `frequency` times a second, 100 unless given. One at a time.
   * @throws {InvalidParameter}
   */
  async cpu(request: Request): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const seconds = readInteger(query, "seconds", { from: 1, to: 300, or: 10 });
    const frequency = readInteger(query, "frequency", {
      from: 1,
      to: 1000,
      or: 100,
    });
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
  async heap(): Promise<Response> {
    if (this.#heap === undefined) return text(404, "not found");
    return await send("heap", await this.#heap.take(this.#clock));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#heap?.[Symbol.asyncDispose]();
  }
}

async function send(name: string, profile: StackProfile): Promise<Response> {
  const response = stream(
    "application/octet-stream",
    await encodePprof(profile),
  );
  response.headers.set(
    "content-disposition",
    `attachment; filename="gateway-${name}.pb.gz"`,
  );
  return response;
}
