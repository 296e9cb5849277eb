/**
 * Builds the executable `dist/gateway`, and the link `dist/gwctl`. `deno compile` wraps the bundled program if its runtime is
 * available; otherwise `launcher.sh` does, as a file that unpacks itself when it first starts. `BUILD_KIND=compiled` or
 * `BUILD_KIND=packed` selects one of them; `BUILD_TARGET`, a target of `deno compile`, selects another platform.
 * `BUILD_KIND=bundle` bundles the programs and wraps nothing, for `deploy/Dockerfile`.
 */
import config from "../deno.json" with { type: "json" };
import { loadPage } from "../admin/ui/page_from_source.ts";
import { pack, runFlags } from "./pack.ts";
import { shortenMap } from "./source_map.ts";

const root = decodeURIComponent(new URL("../", import.meta.url).pathname);
/** `main.js`, `worker.js`, `converter.js`, and the files that they load: at their start, or on demand. */
const folder = `${root}dist/program`;
const page = `${root}dist/page.ts`;
const pageContent = `${root}dist/page_content.ts`;
const importMap = `${root}dist/imports.json`;
const target = Deno.env.get("BUILD_TARGET") ?? Deno.build.target;
const suffix = target.includes("windows") ? ".exe" : "";
const executable = `${root}dist/gateway${suffix}`;
const staging = `${root}dist/gateway.new${suffix}`;
const link = `${root}dist/gwctl`;

type Kind = "compiled" | "packed";

async function bundlePrograms(): Promise<void> {
  await Deno.mkdir(`${root}dist`, { recursive: true });
  await bundleWebUi();
  await Deno.remove(folder, { recursive: true }).catch(ignoreMissing);
  const bundled = await deno(
    "bundle",
    "--quiet",
    // A command loads what it needs, and both programs share files. Not minified: that would not start faster.
    "--code-splitting",
    `--import-map=${importMap}`,
    "--sourcemap=external",
    `--outdir=${folder}`,
    "main.ts",
    "worker.ts",
    "converter.ts",
  );
  if (!bundled.success) {
    throw new Error(`Cannot bundle the programs: ${bundled.errorText}`);
  }
  const commonJs = commonJsFiles();
  for (const name of programFiles()) {
    if (name.endsWith(".js")) await finishFile(`${folder}/${name}`, commonJs);
  }
}

/** Returns the names of the files and of their source maps. */
function programFiles(): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

/** Returns the files of CommonJS packages, of which `deno bundle` exports the default only. */
function commonJsFiles(): ReadonlySet<string> {
  return new Set(
    programFiles().filter((name) =>
      name.endsWith(".js") &&
      /^export default require_\w+\(\);$/m.test(
        Deno.readTextFileSync(`${folder}/${name}`),
      )
    ),
  );
}

/** Returns a dynamic import; those of CommonJS packages get the members, too. */
function importOf(name: string, isCommonJs: boolean): string {
  const imported = `import(String("./${name}"))`;
  return isCommonJs
    ? `${imported}.then(({ default: all }) => ({ default: all, ...all }))`
    : imported;
}

/**
 * Reduces what Deno keeps of a file in memory: its dynamic imports are hidden from Deno, which reads what it can name at the start,
 * and V8 keeps a text with a single character beyond Latin-1 in two bytes for each.
 */
async function finishFile(
  path: string,
  commonJs: ReadonlySet<string>,
): Promise<void> {
  const text = await Deno.readTextFile(path);
  const program = text
    .replaceAll(
      /\bimport\("\.\/([^"\n]+\.js)"\)/g,
      (_, name: string) => importOf(name, commonJs.has(name)),
    )
    .replaceAll(
      // deno-lint-ignore no-control-regex
      /[^\x00-\x7f]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const map = JSON.parse(await Deno.readTextFile(`${path}.map`));
  await Deno.writeTextFile(path, program);
  await Deno.writeTextFile(`${path}.map`, shortenMap(program, map, "../../"));
}

/** Writes the module that replaces `#page`, and an import map that says so. */
async function bundleWebUi(): Promise<void> {
  const files = JSON.stringify(await loadPage());
  await Deno.writeTextFile(pageContent, `export const files = ${files};\n`);
  await Deno.writeTextFile(
    page,
    `export const loadPage = async () =>
  (await import("./page_content.ts")).files;
`,
  );
  const imports = { ...config.imports, "#page": "./page.ts" };
  await Deno.writeTextFile(importMap, JSON.stringify({ imports }));
}

async function build(): Promise<Kind> {
  await bundlePrograms();
  const kind = target === Deno.build.target
    ? Deno.env.get("BUILD_KIND")
    : "compiled";
  const compiled = kind !== "packed" && await compile(kind === "compiled");
  if (!compiled) {
    await pack(
      staging,
      {
        program: Object.fromEntries(
          programFiles().map((name) =>
            [name, Deno.readTextFileSync(`${folder}/${name}`)] as const
          ),
        ),
        runtime: await Deno.readFile(Deno.execPath()),
        help: {
          gateway: await helpOf("gateway"),
          gwctl: await helpOf("gwctl"),
        },
      },
    );
  }
  await Deno.rename(staging, executable);
  await Deno.remove(link).catch(ignoreMissing);
  await Deno.symlink(`gateway${suffix}`, link);
  return compiled ? "compiled" : "packed";
}

/** Returns what the program prints under this name. */
async function helpOf(name: string): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...runFlags, `${folder}/main.js`, "--help"],
    env: { GATEWAY_ARGV0: name },
  }).output();
  return new TextDecoder().decode(stdout);
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

/** Returns false if the runtime that `deno compile` embeds is neither cached nor available for download. */
async function compile(required: boolean): Promise<boolean> {
  const { success, errorText } = await deno(
    "compile",
    ...runFlags,
    "--target",
    target,
    "--include",
    folder,
    "-o",
    staging,
    `${folder}/main.js`,
  );
  if (!success && (required || !errorText.includes("Setting up base binary"))) {
    throw new Error(`Cannot compile "dist/program/main.js": ${errorText}`);
  }
  return success;
}

async function deno(
  ...args: string[]
): Promise<{ success: boolean; errorText: string }> {
  const command = new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    stdout: "null",
    stderr: "piped",
  });
  const { success, stderr } = await command.output();
  return { success, errorText: new TextDecoder().decode(stderr).trim() };
}

/** Measures `gateway version --json` in milliseconds, with an empty cache, and the median with a filled one. */
async function measureStart(): Promise<{ cold: number; warm: number }> {
  const cache = await Deno.makeTempDir();
  const cold = await timeVersion(cache);
  const warm: number[] = [];
  for (let i = 0; i < 5; i++) warm.push(await timeVersion(cache));
  await Deno.remove(cache, { recursive: true });
  return { cold, warm: medianOf(warm) };
}

function medianOf(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

async function timeVersion(cache: string): Promise<number> {
  const env = { GATEWAY_CACHE_DIR: cache };
  // Without `--json`, the launcher answers.
  const args = ["version", "--json"];
  const command = new Deno.Command(executable, { args, env });
  const started = performance.now();
  const { stdout, stderr } = await command.output();
  const elapsed = performance.now() - started;
  if (!new TextDecoder().decode(stdout).includes(config.version)) {
    throw new Error(
      `Cannot run "dist/gateway version": ${new TextDecoder().decode(stderr)}`,
    );
  }
  return elapsed;
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (Deno.env.get("BUILD_KIND") === "bundle") {
  await bundlePrograms();
  Deno.exit();
}
const kind = await build();
print(
  kind === "compiled"
    ? "dist/gateway is compiled, and contains its runtime"
    : "dist/gateway is packed: it unpacks Deno when it first starts (the runtime for deno compile is not available)",
);
const { size } = await Deno.stat(executable);
const files = programFiles().map((name) => Deno.statSync(`${folder}/${name}`));
const bytes = files.reduce((sum, file) => sum + file.size, 0);
print(
  `  size      ${(size / 1e6).toFixed(1)} MB; the program is ${
    (bytes / 1e3).toFixed(0)
  } kB of it, in ${files.length} files`,
);
if (target === Deno.build.target) {
  const { cold, warm } = await measureStart();
  print(
    `  start-up  ${warm.toFixed(0)} ms, the first time ${
      cold.toFixed(0)
    } ms ("gateway version --json")`,
  );
}
