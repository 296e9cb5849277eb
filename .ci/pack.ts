import { createHash } from "node:crypto";
import config from "../deno.json" with { type: "json" };

/**
 * Permissions of the gateway, as few as Deno can express. The configuration decides which hosts, files and variables it uses, so
 * they cannot be listed here. It has no native code, no import at run time and no prompts, and may start only curl, for `gwctl
 * proxy trace`; a gateway that serves drops that first. curl is named by its path, because Deno warns of names that are not on
 * the `PATH`.
 */
const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
  "--allow-run=/usr/bin/curl,/usr/bin/xdg-open,/usr/bin/open",
];
const isolation = [
  "--no-config",
  "--no-lock",
  "--no-npm",
  "--no-remote",
  "--no-check",
];

/**
 * A smaller nursery. Requests leave short-lived garbage, which V8 collects as fast in 4 MiB as in 16; after a burst of
 * connections the process keeps a third less memory.
 */
export const engineFlags: readonly string[] = [
  "--v8-flags=--max-semi-space-size=4",
];

/** Flags of `deno run` and `deno compile` for the bundled program. */
export const runFlags: readonly string[] = [
  ...isolation,
  ...permissions,
  ...config.unstable.map((name) => `--unstable-${name}`),
  ...engineFlags,
];

const BLOCK_BYTES = 64 * 1024;

/** Contents of an executable. */
export interface PackedFiles {
  /** The main program. */
  readonly program: Uint8Array;
  /** The program of workers. */
  readonly worker: Uint8Array;
  /** The Deno executable. */
  readonly runtime: Uint8Array;
}

/**
 * Writes `launcher.sh`, the programs and the Deno executable one after the other, each padded to whole blocks so that `dd` can
 * extract them. They are not compressed: that would save 54 of 96 MB, but cost half a second at the first start.
 */
export async function pack(
  output: string,
  { program, worker, runtime }: PackedFiles,
): Promise<void> {
  // White space at the end of a program has no effect.
  const filledProgram = fill(program, "\n");
  const filledWorker = fill(worker, "\n");
  const programBlocks = filledProgram.length / BLOCK_BYTES;
  const workerBlocks = filledWorker.length / BLOCK_BYTES;
  const launcher = await readLauncher({
    BLOCK_BYTES: BLOCK_BYTES,
    PROGRAM_ENTRY: `gateway-${config.version}-${
      fingerprint(filledProgram, filledWorker)
    }`,
    PROGRAM_BLOCK: 1,
    PROGRAM_BLOCKS: programBlocks,
    PROGRAM_BYTES: filledProgram.length,
    WORKER_BLOCK: 1 + programBlocks,
    WORKER_BLOCKS: workerBlocks,
    WORKER_BYTES: filledWorker.length,
    RUNTIME_ENTRY: `deno-${Deno.version.deno}-${fingerprint(runtime)}`,
    RUNTIME_BLOCK: 1 + programBlocks + workerBlocks,
    RUNTIME_BLOCKS: Math.ceil(runtime.length / BLOCK_BYTES),
    RUNTIME_BYTES: runtime.length,
    RUN_FLAGS: runFlags.join(" "),
  });

  const file = await Deno.open(output, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o755,
  });
  const contents = [launcher, filledProgram, filledWorker, runtime.slice()];
  await new Blob(contents).stream().pipeTo(file.writable);
}

async function readLauncher(
  values: Record<string, string | number>,
): Promise<Uint8Array<ArrayBuffer>> {
  const template = await Deno.readTextFile(
    new URL("launcher.sh", import.meta.url),
  );
  const script = template.replace(
    /@([A-Z_]+)@/g,
    (_, name: string) => String(values[name]),
  );
  const launcher = fill(new TextEncoder().encode(script), "\n");
  if (launcher.length > BLOCK_BYTES) {
    throw new RangeError(
      `Cannot pack the launcher: expected one block, got ${launcher.length} bytes`,
    );
  }
  return launcher;
}

function fill(bytes: Uint8Array, filler: string): Uint8Array<ArrayBuffer> {
  const blocks = Math.ceil(bytes.length / BLOCK_BYTES);
  const filled = new Uint8Array(blocks * BLOCK_BYTES).fill(
    filler.charCodeAt(0),
  );
  filled.set(bytes);
  return filled;
}

function fingerprint(...parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const bytes of parts) hash.update(bytes);
  return hash.digest("hex").slice(0, 32);
}
