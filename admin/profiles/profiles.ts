import { type Clock, pause } from "../../src/base/clock.ts";
import type { DataPlane } from "../../src/dataplane/data_plane.ts";
import { HeapSampling } from "../../src/telemetry/profiles/heap_profile.ts";
import type { StackProfile } from "../../src/telemetry/profiles/stack_profile.ts";
import { takeCpuProfile } from "./cpu_of_all_threads.ts";
import { encodePprof, toPageProfile } from "./pprof.ts";
import { largeJson } from "../http/large_json.ts";
import { type IntegerRange, readInteger } from "../http/query_parameters.ts";
import { respond, text } from "../http/admin_responses.ts";
import { stream } from "../http/declare_endpoint.ts";
import { integer } from "../http/operation_text.ts";
import type { Endpoint, Handler } from "../http/router.ts";

/** Ranges of the parameters of a CPU profile. */
const cpuRanges = {
  seconds: { from: 1, to: 300, or: 10 },
  /** Samples per second. */
  frequency: { from: 1, to: 1000, or: 100 },
} satisfies Readonly<Record<string, IntegerRange>>;

/** Range of the time in which allocations are counted; default live memory. */
const allocationSeconds: IntegerRange<undefined> = {
  from: 1,
  to: 300,
  or: undefined,
};

/** Handlers that take a profile and return it. */
export type ProfileHandlers = {
  readonly heap: Handler;
  /** Available on Linux only. */
  readonly cpu?: Handler;
};

/** Lists the endpoints that take profiles. */
export function profileEndpoints(
  { cpu, heap }: ProfileHandlers,
): readonly Endpoint[] {
  const common = {
    type: "application/octet-stream",
    others: { 409: "Another profile is in progress" },
  };
  const heapProfile = stream("/debug/pprof/heap", heap, {
    ...common,
    summary:
      "Heap profile for go tool pprof: allocation sites of live memory, after a garbage collection; with seconds, of all allocations in that time",
    parameters: [
      integer(
        "seconds",
        "Time in which allocations are counted; later profiles of live memory begin anew",
        allocationSeconds,
      ),
    ],
    ok: "A gzipped profile",
  });
  if (cpu === undefined) return [heapProfile];
  const cpuProfile = stream("/debug/pprof/profile", cpu, {
    ...common,
    summary: "CPU profile for go tool pprof",
    parameters: [
      integer("seconds", "Sampling duration", cpuRanges.seconds),
      integer("frequency", "Samples per second", cpuRanges.frequency),
    ],
    ok: "A gzipped profile, after the sampling duration",
  });
  return [cpuProfile, heapProfile];
}

/** Takes CPU and heap profiles; samples allocations until it is disposed. */
export class Profiles implements AsyncDisposable {
  /** They return gzipped pprof profiles. */
  readonly handlers: ProfileHandlers = this.#handlersFor(sendPprof);
  /** They return `PageProfile`. */
  readonly pageHandlers: ProfileHandlers = this.#handlersFor(sendToPage);
  readonly #clock: Clock;
  readonly #workers: Pick<DataPlane, "call">;
  readonly #heap = new HeapSampling("main");
  #isBusy = false;
  #countsAllocations = false;

  constructor(clock: Clock, workers: Pick<DataPlane, "call">) {
    this.#clock = clock;
    this.#workers = workers;
  }

  #handlersFor(send: Send): ProfileHandlers {
    return {
      ...(Deno.build.os === "linux" &&
        { cpu: (request: Request) => this.#takeCpu(request, send) }),
      heap: (request) => this.#takeHeap(request, send),
    };
  }

  /**
   * Takes a CPU profile, one at a time.
   * @throws {InvalidParameter}
   */
  async #takeCpu(request: Request, send: Send): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const seconds = readInteger(query, "seconds", cpuRanges.seconds);
    const frequency = readInteger(query, "frequency", cpuRanges.frequency);
    if (this.#isBusy) {
      return text(409, "another profile is in progress; retry later");
    }
    this.#isBusy = true;
    try {
      const { signal } = request;
      const profile = await takeCpuProfile({
        seconds,
        frequency,
        clock: this.#clock,
        signal,
        workers: this.#workers,
      });
      // The client has disconnected.
      if (profile === undefined) return text(400, "cancelled");
      return await send("cpu", profile);
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * Takes a profile of live memory; with `seconds`, of all allocations in that time.
   * @throws {InvalidParameter}
   */
  async #takeHeap(request: Request, send: Send): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const seconds = readInteger(query, "seconds", allocationSeconds);
    if (this.#countsAllocations) {
      return text(409, "another profile is in progress; retry later");
    }
    if (seconds === undefined) {
      return await send("heap", await this.#readHeap());
    }
    this.#countsAllocations = true;
    try {
      await this.#heap.startAllocations();
      await this.#workers.call("startAllocationProfiles");
      await pause(this.#clock, seconds * 1000, request.signal);
      return await send("allocs", await this.#readHeap());
    } catch (error) {
      // Counting would go on and need ever more memory.
      await this.#heap.take(this.#clock);
      throw error;
    } finally {
      this.#countsAllocations = false;
    }
  }

  async #readHeap(): Promise<StackProfile> {
    const own = await this.#heap.take(this.#clock);
    const others = await this.#workers.call("heapProfiles");
    const samples = [own, ...others].flatMap((profile) => profile.samples);
    return { ...own, samples };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#heap[Symbol.asyncDispose]();
  }
}

type Send = (name: string, profile: StackProfile) => Promise<Response>;

async function sendToPage(_: string, profile: StackProfile): Promise<Response> {
  return await largeJson({ ...toPageProfile(profile) });
}

async function sendPprof(
  name: string,
  profile: StackProfile,
): Promise<Response> {
  const body = await encodePprof(profile);
  return respond(200, "application/octet-stream", body, {
    "content-disposition": `attachment; filename="gateway-${name}.pb.gz"`,
  });
}
