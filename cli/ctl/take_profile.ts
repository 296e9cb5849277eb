import { systemClock } from "../../src/base/clock.ts";
import {
  type AdminAddress,
  askAdmin,
  nameOf,
  stranger,
} from "../client/admin_client.ts";
import { exitCodes } from "../process/exit.ts";
import { print } from "../output/output.ts";
import { onSignal, signalExitCodes } from "../process/signals.ts";
import { OutputFile } from "./output_file.ts";
import { showProgress } from "./progress_bar.ts";

/** Where to put a profile. */
export interface ProfileOptions extends AdminAddress {
  /** Default: a name with the time, in the current directory. */
  readonly output?: string;
  /** Of a CPU profile. */
  readonly seconds?: number;
}

/**
 * Takes a profile of a running gateway and writes it to a file; answers the exit code.
 * Ctrl-C hangs up, which ends it at the gateway as well.
 */
export async function takeProfile(
  kind: "cpu" | "heap",
  { output, ...options }: ProfileOptions,
): Promise<number> {
  const name = output ?? `gateway-${kind}-${timestamp()}.pb.gz`;
  // Before the gateway goes to work for it.
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
  await using _progress = kind === "cpu" ? showProgress(seconds) : undefined;
  const bytes = await askAdmin(address, {
    pathAndQuery: kind === "cpu"
      ? `/debug/pprof/profile?seconds=${seconds}`
      : "/debug/pprof/heap",
    type: "application/octet-stream",
    // Collecting garbage and packing take their time as well.
    extraMs: (seconds + 20) * 1000,
    signal,
  });
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) throw stranger(nameOf(address), "it is no profile");
  return bytes;
}

/** Such as `20261121-080000`, in the time of this machine. */
function timestamp(): string {
  const now = new Date(systemClock.now());
  const pad = (value: number) => String(value).padStart(2, "0");
  const day = [now.getFullYear(), pad(now.getMonth() + 1), pad(now.getDate())];
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(pad);
  return `${day.join("")}-${time.join("")}`;
}
