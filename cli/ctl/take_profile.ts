import { systemClock } from "../../src/base/clock.ts";
import {
  type AdminAddress,
  nameOf,
  requestAdmin,
  unexpectedResponse,
} from "../client/admin_client.ts";
import { exitCodes } from "../process/exit.ts";
import { print } from "../output/output.ts";
import { onSignal, signalExitCodes } from "../process/signals.ts";
import { OutputFile } from "./output_file.ts";
import { showProgress } from "./progress_bar.ts";

/** Options of `takeProfile`. */
export interface ProfileOptions extends AdminAddress {
  /** File; default: a name with the time in the current directory. */
  readonly output?: string;
  /** Duration of a CPU profile, or of counting allocations. */
  readonly seconds?: number;
}

/**
 * Takes a profile of a running gateway and writes it to a file; returns the exit code.
 * Ctrl-C disconnects, which also stops the gateway's sampling.
 */
export async function takeProfile(
  kind: "cpu" | "heap",
  { output, ...options }: ProfileOptions,
): Promise<number> {
  const name = output ?? `gateway-${kind}-${timestamp()}.pb.gz`;
  // Opened before the gateway starts sampling.
  await using file = await OutputFile.open(name);
  const interrupt = new AbortController();
  using _listening = onSignal("SIGINT", () => interrupt.abort());
  try {
    await file.write(await download(kind, options, interrupt.signal));
  } catch (error) {
    if (interrupt.signal.aborted) return signalExitCodes.SIGINT;
    throw error;
  }
  await print(`Wrote ${kind} profile to ${name}\n`);
  return exitCodes.ok;
}

async function download(
  kind: "cpu" | "heap",
  { seconds = 0, ...address }: ProfileOptions,
  signal: AbortSignal,
): Promise<Uint8Array> {
  await using _progress = seconds > 0 ? showProgress(seconds) : undefined;
  const bytes = await requestAdmin(address, {
    pathAndQuery:
      (kind === "cpu" ? "/debug/pprof/profile" : "/debug/pprof/heap") +
      (seconds > 0 ? `?seconds=${seconds}` : ""),
    type: "application/octet-stream",
    // Includes time for garbage collection and compression.
    extraMs: (seconds + 20) * 1000,
    signal,
  });
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) throw unexpectedResponse(nameOf(address), "not a profile");
  return bytes;
}

/** Formats the local time: `20261121-080000`. */
function timestamp(): string {
  const now = new Date(systemClock.now());
  const pad = (value: number) => String(value).padStart(2, "0");
  const day = [now.getFullYear(), pad(now.getMonth() + 1), pad(now.getDate())];
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(pad);
  return `${day.join("")}-${time.join("")}`;
}
