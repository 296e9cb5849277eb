/**
 * Makes `dist/gateway`, one executable, and the link `dist/gwctl`. The bundled program is wrapped by `deno compile`
 * where its runtime can be had, else by `launcher.sh` into a file that unpacks itself on its first start.
 * `BUILD_KIND=compiled` or `BUILD_KIND=packed` asks for one of the two.
 */
import { createHash } from "node:crypto";
import config from "../deno.json" with { type: "json" };

const root = new URL("../", import.meta.url);
const dist = new URL("dist/", root);
const bundle = new URL("bundle.js", dist);
const executable = new URL("gateway", dist);

/**
 * What the gateway may do, as narrow as Deno can say it. Configuration decides which hosts, files and variables it
 * touches, so those cannot be listed here; `curl` is what `gwctl proxy trace` starts. No native code, no other program,
 * no import at run time, no question to the terminal.
 */
const permissions = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
  "--allow-run=curl",
];
const features = config.unstable.map((name) => `--unstable-${name}`);
const isolation = [
  "--no-config",
  "--no-lock",
  "--no-npm",
  "--no-remote",
  "--no-check",
];

const blockBytes = 64 * 1024;

type Kind = "compiled" | "packed";

async function build(asked: string | undefined): Promise<Kind> {
  await Deno.mkdir(dist, { recursive: true });
  await bundleProgram();
  const compiled = asked !== "packed" && await compile(asked === "compiled");
  if (!compiled) await pack();
  await link("gateway", new URL("gwctl", dist));
  return compiled ? "compiled" : "packed";
}

async function bundleProgram(): Promise<void> {
  const { success, errorText } = await deno(
    "bundle",
    "--quiet",
    "--minify",
    "-o",
    bundle.pathname,
    "main.ts",
  );
  if (!success) throw new Error(`Cannot bundle "main.ts": ${errorText}`);
}

/** False when the runtime that `deno compile` embeds is neither cached nor within reach. */
async function compile(required: boolean): Promise<boolean> {
  const { success, errorText } = await deno(
    "compile",
    ...isolation,
    ...permissions,
    ...features,
    "-o",
    executable.pathname,
    bundle.pathname,
  );
  if (!success && (required || !errorText.includes("Setting up base binary"))) {
    throw new Error(`Cannot compile "dist/bundle.js": ${errorText}`);
  }
  return success;
}

/** Writes script, program and runtime one after the other, each filled up to whole blocks, so that `dd` can take them out. */
async function pack(): Promise<void> {
  const template = await Deno.readTextFile(
    new URL("launcher.sh", import.meta.url),
  );
  // White space after a program changes nothing.
  const program = fill(await Deno.readFile(bundle), "\n");
  const runtime = await Deno.readFile(Deno.execPath());
  const programBlocks = program.length / blockBytes;
  const values: Record<string, string | number> = {
    BLOCK_BYTES: blockBytes,
    PROGRAM_ENTRY: `gateway-${config.version}-${fingerprint(program)}`,
    PROGRAM_BLOCK: 1,
    PROGRAM_BLOCKS: programBlocks,
    PROGRAM_BYTES: program.length,
    RUNTIME_ENTRY: `deno-${Deno.version.deno}-${fingerprint(runtime)}`,
    RUNTIME_BLOCK: 1 + programBlocks,
    RUNTIME_BLOCKS: Math.ceil(runtime.length / blockBytes),
    RUNTIME_BYTES: runtime.length,
    RUN_FLAGS: [...isolation, ...permissions, ...features].join(" "),
  };
  const script = template.replace(
    /@([A-Z_]+)@/g,
    (_, name) => String(values[name]),
  );
  const head = fill(new TextEncoder().encode(script), "\n");
  if (head.length !== blockBytes) {
    throw new Error(
      `Cannot pack the launcher: expected one block, got ${head.length} bytes`,
    );
  }

  const staging = new URL("gateway.new", dist);
  using file = await Deno.open(staging, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o755,
  });
  for (const part of [head, program, runtime]) {
    await new Blob([part]).stream().pipeTo(file.writable, {
      preventClose: true,
    });
  }
  await Deno.rename(staging, executable);
}

function fill(bytes: Uint8Array, filler: string): Uint8Array<ArrayBuffer> {
  const filled = new Uint8Array(
    Math.ceil(bytes.length / blockBytes) * blockBytes,
  ).fill(filler.charCodeAt(0));
  filled.set(bytes);
  return filled;
}

function fingerprint(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}

async function link(target: string, path: URL): Promise<void> {
  await Deno.remove(path).catch(() => {});
  await Deno.symlink(target, path);
}

async function deno(
  ...args: string[]
): Promise<{ success: boolean; errorText: string }> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    stdout: "null",
    stderr: "piped",
  }).output();
  return { success, errorText: new TextDecoder().decode(stderr).trim() };
}

/** Milliseconds that `gateway version` takes; `cold` with an empty cache. */
async function measure(): Promise<{ cold: number; warm: number }> {
  const cache = await Deno.makeTempDir();
  try {
    const cold = await timeVersion(cache);
    const warm: number[] = [];
    for (let i = 0; i < 9; i++) warm.push(await timeVersion(cache));
    return { cold, warm: warm.sort((a, b) => a - b)[4] ?? Number.NaN };
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}

async function timeVersion(cache: string): Promise<number> {
  const started = performance.now();
  const { success, stderr } = await new Deno.Command(executable, {
    args: ["version"],
    env: { GATEWAY_CACHE_DIR: cache },
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(
      `Cannot start "dist/gateway": ${new TextDecoder().decode(stderr)}`,
    );
  }
  return performance.now() - started;
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

const kind = await build(Deno.env.get("BUILD_KIND"));
const { size } = await Deno.stat(executable);
const program = await Deno.stat(bundle);
const { cold, warm } = await measure();
const how = kind === "compiled"
  ? "compiled with its runtime"
  : "packed: unpacks the Deno executable on its first start, for no compile runtime could be had";
print(`dist/gateway is ${how}
  size      ${(size / 1e6).toFixed(1)} MB, of which the program ${
  (program.size / 1e3).toFixed(0)
} kB
  start-up  ${warm.toFixed(0)} ms ("gateway version"), ${
  cold.toFixed(0)
} ms the first time`);
