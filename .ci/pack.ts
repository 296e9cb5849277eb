import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import config from "../deno.json" with { type: "json" };

/**
 * Permissions of the gateway, as few as Deno can express. The configuration decides which hosts, files and variables it uses, so
 * they cannot be listed here. It has no native code, no import at run time and no prompts. `gwctl` starts programs: curl, the
 * browser, and those that a kubeconfig names for credentials; a gateway that serves drops that permission first.
 */
const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
  "--allow-run",
];
const isolation = [
  "--no-config",
  "--no-lock",
  "--no-npm",
  "--no-remote",
  "--no-check",
];

/**
 * A smaller nursery, and less garbage outside of it. V8 collects what requests leave as fast in 8 MiB as in 16; in 4 MiB, many are
 * still under way when it does, and their garbage grows old. By itself, V8 lets old garbage grow to several times what is in use.
 */
export const engineFlags: readonly string[] = [
  "--v8-flags=--max-semi-space-size=8,--heap-growing-percent=30",
];

/** Flags of `deno run` and `deno compile` for the bundled programs. */
export const runFlags: readonly string[] = [
  ...isolation,
  ...permissions,
  ...config.unstable.map((name) => `--unstable-${name}`),
  ...engineFlags,
];

/**
 * Lets glibc return memory to the system: by itself, each of its arenas keeps the most that V8's compiler has ever needed, which takes
 * blocks of up to 32 KiB. Variables of these names that are set stay as they are.
 */
export const runEnvironment: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: "16384",
  MALLOC_TRIM_THRESHOLD_: "65536",
  MALLOC_TOP_PAD_: "65536",
};

const BLOCK_BYTES = 64 * 1024;

/** Contents of an executable. */
export interface PackedFiles {
  /** `main.js`, `worker.js`, the files that they import, and source maps, by their names. */
  readonly program: Readonly<Record<string, string>>;
  /** The Deno executable. */
  readonly runtime: Uint8Array;
  /** Output of `--help`, by the name of the program. */
  readonly help: { readonly gateway: string; readonly gwctl: string };
}

/**
 * Writes `launcher.sh`, the program and the Deno executable one after the other, each compressed, and padded to whole blocks so
 * that `dd` can extract them. Compression halves the file and costs half a second at the first start; every system has gzip.
 */
export async function pack(
  output: string,
  { program, runtime, help }: PackedFiles,
): Promise<void> {
  const unpacker = new TextEncoder().encode(unpackerOf(program));
  const parts = [unpacker, runtime].map((bytes) =>
    gzipSync(bytes, { level: 9 })
  );
  const blocks = parts.map(({ length }) => Math.ceil(length / BLOCK_BYTES));
  const [programPart, runtimePart] = parts.map(
    ({ length }, index) => {
      const before = blocks.slice(0, index).reduce((sum, n) => sum + n, 1);
      return `${before} ${blocks[index]} ${length}`;
    },
  );
  const launcher = await readLauncher({
    BLOCK_BYTES: BLOCK_BYTES,
    PROGRAM_ENTRY: `gateway-${config.version}-${fingerprint(unpacker)}`,
    PROGRAM_BYTES: bytesOf(program),
    PROGRAM_PART: programPart,
    RUNTIME_ENTRY: `deno-${Deno.version.deno}-${fingerprint(runtime)}`,
    RUNTIME_BYTES: runtime.length,
    RUNTIME_PART: runtimePart,
    RUN_FLAGS: runFlags.join(" "),
    RUN_ENVIRONMENT: Object.entries(runEnvironment)
      .map((each) => each.join("=")).join(" "),
    VERSION: config.version,
    GATEWAY_HELP: inQuotes(help.gateway),
    GWCTL_HELP: inQuotes(help.gwctl),
  });

  const file = await Deno.open(output, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o755,
  });
  const contents = [launcher, ...parts.map(pad)];
  await new Blob(contents).stream().pipeTo(file.writable);
}

async function readLauncher(
  values: Record<string, string | number | undefined>,
): Promise<Uint8Array<ArrayBuffer>> {
  const template = await Deno.readTextFile(
    new URL("launcher.sh", import.meta.url),
  );
  const script = template.replace(
    /@([A-Z_]+)@/g,
    (_, name: string) => String(values[name]),
  );
  const launcher = pad(new TextEncoder().encode(`${script}\n`));
  if (launcher.length > BLOCK_BYTES) {
    throw new RangeError(
      `Cannot pack the launcher: expected one block, got ${launcher.length} bytes`,
    );
  }
  return launcher;
}

/** Escapes a text for single quotes of the shell. */
function inQuotes(text: string): string {
  return text.trimEnd().replaceAll("'", "'\\''");
}

/** Fills the last block with zeros, which the shell does not reach. */
function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const blocks = Math.ceil(bytes.length / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(bytes);
  return padded;
}

/**
 * Returns a script that writes the files into the folder that its argument names. It renames each, so that simultaneous and
 * interrupted starts do no harm.
 */
function unpackerOf(program: PackedFiles["program"]): string {
  return `const files = ${JSON.stringify(program)};
const [folder] = Deno.args;
for (const [name, text] of Object.entries(files)) {
  const partial = Deno.makeTempFileSync({ dir: folder, prefix: "new." });
  Deno.writeTextFileSync(partial, text);
  Deno.chmodSync(partial, 0o700);
  Deno.renameSync(partial, folder + "/" + name);
}
`;
}

function bytesOf(program: PackedFiles["program"]): number {
  const encoder = new TextEncoder();
  return Object.values(program).map((text) => encoder.encode(text).length)
    .reduce((sum, length) => sum + length, 0);
}

function fingerprint(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}
