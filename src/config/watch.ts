import type { Clock } from "../base/clock.ts";
import { readFileBytes } from "../base/regular_file.ts";
import { listConfigFiles } from "./read.ts";

/** What to watch and how. */
export interface WatchOptions {
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Further files whose change counts, such as certificates; asked again at every look. */
  readonly files: () => readonly string[];
  /** Quiet time after which a burst of changes, such as to a certificate and its key, counts as over; default 100. */
  readonly debounceMs?: number;
  /** How often to look; default 250. */
  readonly lookMs?: number;
}

/** So often the content is read though nothing seems to have changed: a file can be written twice within one tick of its time. */
const LOOKS_PER_READING = 8;

/**
 * Starts to watch; from then on the result yields whenever the content behind `-f` or of the further files has changed,
 * however it was written: in place, by an editor's rename, or by the swapped link of a mounted ConfigMap. Wait for it
 * before the first load, so that no change falls in between. Ends at once for standard input.
 *
 * It looks at the files from time to time. `Deno.watchFs` would tell at once, but opens each named pipe that appears in the folder,
 * and to end it then blocks the process until somebody writes into the pipe.
 */
export async function watchConfig(
  spec: string,
  options: WatchOptions,
): Promise<AsyncGenerator<void>> {
  const atStart = spec === "-"
    ? undefined
    : await readContents(spec, options.files());
  return changes(spec, options, atStart);
}

async function* changes(
  spec: string,
  options: WatchOptions,
  atStart: Contents | undefined,
): AsyncGenerator<void> {
  if (atStart === undefined) return;
  let last = atStart;
  let seen = "";
  const { clock, signal, lookMs = 250 } = options;
  for (let looks = 0; !signal.aborted; looks++) {
    const found = await look(spec, options.files());
    if (found !== seen || looks % LOOKS_PER_READING === 0) {
      seen = await settle(found, spec, options);
      const current = await readContents(spec, options.files());
      const changed = differ(last, current);
      last = current;
      if (changed) {
        yield;
        continue;
      }
    }
    await sleep(clock, lookMs, signal);
  }
}

/** Waits for the end of a burst of changes, at the latest after twice the quiet time; answers what the last look found. */
async function settle(
  found: string,
  spec: string,
  { clock, signal, files, debounceMs = 100 }: WatchOptions,
): Promise<string> {
  let last = found;
  for (let round = 0; round < 2 && !signal.aborted; round++) {
    await sleep(clock, debounceMs, signal);
    const next = await look(spec, files());
    if (next === last) break;
    last = next;
  }
  return last;
}

/** What tells from outside that files have changed: another file there, other times, another size. */
async function look(spec: string, files: readonly string[]): Promise<string> {
  const paths = [...await configFiles(spec), ...files];
  const seen = await Promise.all(paths.map(lookAt));
  return seen.join("\n");
}

async function lookAt(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtime, ctime } = await Deno.stat(path);
    return [path, dev, ino, size, mtime?.getTime(), ctime?.getTime()].join();
  } catch {
    return path;
  }
}

function sleep(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.setTimer(done, delayMs);
    signal.addEventListener("abort", done);
  });
}

async function configFiles(spec: string): Promise<readonly string[]> {
  return await listConfigFiles(spec).catch(() => []);
}

/** Digests of everything watched, by path. */
interface Contents {
  readonly config: ReadonlyMap<string, string>;
  readonly files: ReadonlyMap<string, string>;
}

async function readContents(
  spec: string,
  files: readonly string[],
): Promise<Contents> {
  return {
    config: await digests(await configFiles(spec)),
    files: await digests(files),
  };
}

async function digests(
  paths: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const entries = paths.map(async (path) =>
    [path, await digest(path)] as const
  );
  return new Map(await Promise.all(entries));
}

/** A file that cannot be read counts as one content more. */
async function digest(path: string): Promise<string> {
  const bytes = await readFileBytes(path).catch(() => undefined);
  if (bytes === undefined) return "unreadable";
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/**
 * Whether configuration files came, went or changed, or a further file changed.
 *
 * One that was not watched before counts as changed: it may have been since it was read.
 */
function differ(before: Contents, after: Contents): boolean {
  if (before.config.size !== after.config.size) return true;
  for (const [path, content] of after.config) {
    if (before.config.get(path) !== content) return true;
  }
  for (const [path, content] of after.files) {
    if (before.files.get(path) !== content) return true;
  }
  return false;
}
