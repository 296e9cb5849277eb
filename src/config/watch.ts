import { dirname } from "node:path";
import type { Clock } from "../base/clock.ts";
import { listConfigFiles } from "./read.ts";

/** What to watch and how. */
export interface WatchOptions {
  readonly clock: Clock;
  /** Ends the watch and releases everything it holds. */
  readonly signal: AbortSignal;
  /** Further files whose change counts, such as certificates; asked again after every change. */
  readonly files: () => readonly string[];
  /** Told when file events cannot be had, so that changes are found by looking every `pollMs`. */
  readonly onFallback?: (error: unknown) => void;
  /** Quiet time after which a burst of changes, such as to a certificate and its key, counts as over; default 100. */
  readonly debounceMs?: number;
  /** How often to look without being told; default 2 000. */
  readonly pollMs?: number;
}

/**
 * Starts to watch; from then on the result yields whenever the content behind `-f` or of the further files has changed,
 * however it was written: in place, by an editor's rename, or by the swapped link of a mounted ConfigMap. Wait for it
 * before the first load, so that no change falls in between. Ends at once for standard input.
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
  const { clock, signal, debounceMs = 100, pollMs = 2_000 } = options;
  using events = new DirectoryEvents(options.onFallback);
  while (!signal.aborted) {
    events.watch(await foldersOf(spec, options.files()));
    await events.settle(clock, debounceMs, signal);
    // What changed before the folders were watched raised no event, so look before waiting.
    const current = await readContents(spec, options.files());
    const changed = differ(last, current);
    last = current;
    if (changed) {
      yield;
      continue;
    }
    await events.next(clock, pollMs, signal);
  }
}

/** Tells that something happened in one of a set of folders. */
class DirectoryEvents implements Disposable {
  readonly #onFallback: ((error: unknown) => void) | undefined;
  #watcher: Deno.FsWatcher | undefined;
  #watched = "";
  #pending = false;
  #wake: (() => void) | undefined;

  constructor(onFallback: ((error: unknown) => void) | undefined) {
    this.#onFallback = onFallback;
  }

  watch(folders: readonly string[]): void {
    const wanted = folders.join("\n");
    if (wanted === this.#watched) return;
    this.#watched = wanted;
    this.#watcher?.close();
    this.#watcher = undefined;
    try {
      this.#watcher = Deno.watchFs([...folders], { recursive: false });
      this.#forward(this.#watcher);
    } catch (error) {
      this.#onFallback?.(error);
    }
  }

  /** Resolves on an event, after `pollMs`, or when aborted. */
  async next(clock: Clock, pollMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#pending) await this.#sleep(clock, pollMs, signal, true);
  }

  /** Resolves once nothing has happened for `quietMs`, at the latest after twice that. */
  async settle(
    clock: Clock,
    quietMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    for (
      let round = 0;
      round < 2 && this.#pending && !signal.aborted;
      round++
    ) {
      this.#pending = false;
      await this.#sleep(clock, quietMs, signal, false);
    }
    this.#pending = false;
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  async #forward(watcher: Deno.FsWatcher): Promise<void> {
    try {
      for await (const { kind } of watcher) {
        // Reading a file is an event too, and reading is what a change leads to.
        if (kind === "access") continue;
        this.#pending = true;
        this.#wake?.();
      }
    } catch (error) {
      this.#onFallback?.(error);
    }
  }

  #sleep(
    clock: Clock,
    delayMs: number,
    signal: AbortSignal,
    wakeable: boolean,
  ): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const done = () => {
        cancel();
        signal.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      const cancel = clock.setTimer(done, delayMs);
      signal.addEventListener("abort", done);
      if (wakeable) this.#wake = done;
    });
  }
}

/** Folders in which a change can alter what the paths lead to: their own and those that links point into. */
async function foldersOf(
  spec: string,
  files: readonly string[],
): Promise<readonly string[]> {
  const folders = new Set<string>();
  for (const path of [spec, ...await configFiles(spec), ...files]) {
    for (const place of [path, await realPath(path)]) {
      const folder = place === undefined ? undefined : await folderOf(place);
      if (folder !== undefined) folders.add(folder);
    }
  }
  return [...folders].toSorted();
}

async function folderOf(path: string): Promise<string | undefined> {
  for (const candidate of [path, dirname(path)]) {
    try {
      if ((await Deno.stat(candidate)).isDirectory) return candidate;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) return undefined;
    }
  }
  return undefined;
}

async function realPath(path: string): Promise<string | undefined> {
  return await Deno.realPath(path).catch(() => undefined);
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
  const bytes = await Deno.readFile(path).catch(() => undefined);
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
