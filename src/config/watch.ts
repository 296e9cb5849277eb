import { type Clock, pause } from "../base/clock.ts";
import { readFileBytes } from "../base/regular_file.ts";
import { listConfigFiles } from "./config_files.ts";

/** Options of a watch. */
export interface WatchOptions {
  /** Source of time for the pauses between two looks. */
  readonly clock: Clock;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Returns further files to watch, such as certificates; called for every poll. */
  readonly files: () => readonly string[];
  /** Quiet time that ends a burst of changes, such as to a certificate and its key; default 100. */
  readonly debounceMs?: number;
  /** Poll interval; default 250. */
  readonly pollMs?: number;
}

/** Polls between unconditional reads of the content: a file can change twice within the resolution of its modification time. */
const POLLS_PER_READ = 8;

/**
 * Starts watching; the result yields whenever the content of `-f` or of the further files changes, whether written in place,
 * replaced by an editor, or swapped as the link of a mounted ConfigMap. Await it before the first load, so that no change is
 * missed. Ends immediately for standard input.
 *
 * It polls. `Deno.watchFs` would react faster, but opens every named pipe that appears in the directory; closing it then blocks
 * the process until something is written to the pipe.
 */
export async function watchConfig(
  spec: string,
  options: WatchOptions,
): Promise<AsyncGenerator<void>> {
  const initial = spec === "-"
    ? undefined
    : await readContents(spec, options.files());
  return changes(spec, options, initial);
}

async function* changes(
  spec: string,
  options: WatchOptions,
  initial: Contents | undefined,
): AsyncGenerator<void> {
  if (initial === undefined) return;
  let last = initial;
  let seen = "";
  const { clock, signal, pollMs = 250 } = options;
  for (let polls = 0; !signal.aborted; polls++) {
    const found = await poll(spec, options.files());
    if (found !== seen || polls % POLLS_PER_READ === 0) {
      seen = await settle(found, spec, options);
      const current = await readContents(spec, options.files());
      const changed = differ(last, current);
      last = current;
      if (changed) {
        yield;
        continue;
      }
    }
    await pause(clock, pollMs, signal);
  }
}

/** Waits for the end of a burst of changes, at most twice the quiet time; returns the result of the last poll. */
async function settle(
  found: string,
  spec: string,
  { clock, signal, files, debounceMs = 100 }: WatchOptions,
): Promise<string> {
  let last = found;
  for (let round = 0; round < 2 && !signal.aborted; round++) {
    await pause(clock, debounceMs, signal);
    const next = await poll(spec, files());
    if (next === last) break;
    last = next;
  }
  return last;
}

/** Summarizes the metadata of all files, which changes with a different file, times or size. */
async function poll(spec: string, files: readonly string[]): Promise<string> {
  const paths = [...await configFiles(spec), ...files];
  const metadata = await Promise.all(paths.map(metadataOf));
  return metadata.join("\n");
}

async function metadataOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtime, ctime } = await Deno.stat(path);
    return [path, dev, ino, size, mtime?.getTime(), ctime?.getTime()].join();
  } catch {
    return path;
  }
}

async function configFiles(spec: string): Promise<readonly string[]> {
  return await listConfigFiles(spec).catch(() => []);
}

/** Digests of all watched files by path. */
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

/** Returns the digest of a file; all unreadable files share one. */
async function digest(path: string): Promise<string> {
  const bytes = await readFileBytes(path).catch(() => undefined);
  if (bytes === undefined) return "unreadable";
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/**
 * Reports whether configuration files were added, removed or changed, or a further file changed.
 *
 * A further file that was not watched before counts as changed: it may have changed since it was read.
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
