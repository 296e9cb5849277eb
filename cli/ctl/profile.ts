import { systemClock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { type AdminAddress, downloadAdmin } from "../admin_client.ts";
import { Failure } from "../exit.ts";
import { print, printError } from "../output.ts";

/** Where to put a profile. */
export interface ProfileOptions extends AdminAddress {
  /** Default: a name with the time, in the current directory. */
  readonly output?: string;
  /** Of a CPU profile. */
  readonly seconds?: number;
}

const progressMs = 200;
const barWidth = 30;

/** Takes a profile of a running gateway and writes it to a file. */
export async function takeProfile(
  kind: "cpu" | "heap",
  { output, seconds = 0, ...address }: ProfileOptions,
): Promise<void> {
  const path = kind === "cpu"
    ? `/debug/pprof/profile?seconds=${seconds}`
    : "/debug/pprof/heap";
  const stopProgress = kind === "cpu" ? showProgress(seconds) : () => {};
  let bytes: Uint8Array;
  try {
    // Collecting garbage and packing take their time as well.
    bytes = await downloadAdmin(address, path, (seconds + 20) * 1000);
  } finally {
    stopProgress();
  }
  const file = output ?? `gateway-${kind}-${timestamp()}.pb.gz`;
  try {
    await Deno.writeFile(file, bytes);
  } catch (error) {
    throw new Failure(`Cannot write "${file}": ${describeError(error)}`);
  }
  await print(`Wrote ${kind} profile to ${file}\n`);
}

/** Such as `20261121-080000`, in the time of this machine. */
function timestamp(): string {
  const now = new Date(systemClock.now());
  const pad = (value: number) => String(value).padStart(2, "0");
  const day = [now.getFullYear(), pad(now.getMonth() + 1), pad(now.getDate())];
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(pad);
  return `${day.join("")}-${time.join("")}`;
}

/** A bar on the terminal; what it answers takes it away. */
function showProgress(seconds: number): () => void {
  if (!Deno.stderr.isTerminal() || Deno.env.get("TERM") === "dumb") {
    return () => {};
  }
  const startedAt = systemClock.monotonic();
  let cancelTimer = () => {};
  const draw = () => {
    const elapsed = (systemClock.monotonic() - startedAt) / 1000;
    const part = Math.min(1, elapsed / seconds);
    const filled = Math.round(part * barWidth);
    const bar = "#".repeat(filled).padEnd(barWidth, ".");
    const left = Math.max(0, Math.ceil(seconds - elapsed));
    void printError(`\r[${bar}] ${left} s left `);
    cancelTimer = systemClock.setTimer(draw, progressMs);
  };
  draw();
  return () => {
    cancelTimer();
    void printError("\r\x1b[K");
  };
}
