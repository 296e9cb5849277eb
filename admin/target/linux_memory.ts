/** Sizes of `smaps_rollup` in bytes, such as `{ rssBytes: 1, pssBytes: 2 }`; see proc(5). */
export type Smaps = Readonly<Record<string, number>>;

/** Memory usage and limit of the process's control group; `null`: unlimited. */
export interface Cgroup {
  readonly version: 1 | 2;
  readonly usageBytes: number;
  readonly limitBytes: number | null;
}

/** Memory of the process as reported by Linux; `null`: not available. */
export interface SystemMemory {
  readonly smaps: Smaps | null;
  readonly cgroup: Cgroup | null;
}

/**
 * Linux files about the memory of the process, opened at startup: Deno requires full permissions for /proc and /sys, which the
 * gateway drops before it serves. The executable runs without them (denying a single one, such as `--deny-ffi`, is enough), so
 * there the values are null.
 */
export class MemoryFiles implements Disposable {
  readonly #smaps = openIfAllowed("/proc/self/smaps_rollup");
  readonly #cgroup = openCgroup();

  read(): SystemMemory {
    return {
      smaps: this.#smaps === undefined
        ? null
        : parseSmaps(readAgain(this.#smaps)),
      cgroup: this.#cgroup === undefined ? null : readCgroup(this.#cgroup),
    };
  }

  [Symbol.dispose](): void {
    this.#smaps?.close();
    this.#cgroup?.usage.close();
    this.#cgroup?.limit.close();
  }
}

/** Parses lines such as `Private_Dirty:   1024 kB`. */
export function parseSmaps(text: string): Smaps {
  const rows = text.matchAll(/^([A-Za-z_]+): +([0-9]+) kB$/gm);
  return Object.fromEntries(
    [...rows].map(([, name = "", size]) => [nameOf(name), Number(size) * 1024]),
  );
}

/** Converts `Private_Dirty` to `privateDirtyBytes`, `Rss` to `rssBytes`. */
function nameOf(field: string): string {
  const joined = field.replace(/_([A-Za-z])/g, (_, next) => next.toUpperCase());
  const start = /^[A-Z]+(?![a-z])|^[A-Z]/;
  return `${joined.replace(start, (text) => text.toLowerCase())}Bytes`;
}

interface CgroupFiles {
  readonly version: 1 | 2;
  readonly usage: Deno.FsFile;
  readonly limit: Deno.FsFile;
}

function openCgroup(): CgroupFiles | undefined {
  using file = openIfAllowed("/proc/self/cgroup");
  if (file === undefined) return undefined;
  const own = readAgain(file);
  const [, unified = ""] = /^0::(.*)$/m.exec(own) ?? [];
  const [, memory = ""] =
    /^[0-9]+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own) ?? [];
  const root = "/sys/fs/cgroup";
  // In a container, its own group is mounted at the root.
  return openGroup(`${root}${unified}`, 2) ?? openGroup(root, 2) ??
    openGroup(`${root}/memory${memory}`, 1) ?? openGroup(`${root}/memory`, 1);
}

function openGroup(path: string, version: 1 | 2): CgroupFiles | undefined {
  const usage = openIfAllowed(
    `${path}/${version === 2 ? "memory.current" : "memory.usage_in_bytes"}`,
  );
  if (usage === undefined) return undefined;
  const limit = openIfAllowed(
    `${path}/${version === 2 ? "memory.max" : "memory.limit_in_bytes"}`,
  );
  if (limit !== undefined) return { version, usage, limit };
  usage.close();
  return undefined;
}

function readCgroup({ version, usage, limit }: CgroupFiles): Cgroup {
  const allowed = Number(readAgain(limit));
  // Unlimited is "max" in version 2 and the largest number of pages in version 1.
  const isLimit = allowed < Number.MAX_SAFE_INTEGER;
  return {
    version,
    usageBytes: Number(readAgain(usage)),
    limitBytes: isLimit ? allowed : null,
  };
}

function readAgain(file: Deno.FsFile): string {
  file.seekSync(0, Deno.SeekMode.Start);
  const bytes = new Uint8Array(16 * 1024);
  return new TextDecoder().decode(bytes.subarray(0, file.readSync(bytes) ?? 0));
}

function openIfAllowed(path: string): Deno.FsFile | undefined {
  try {
    return Deno.openSync(path);
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotCapable ||
      error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotADirectory;
    if (isMissing) return undefined;
    throw error;
  }
}
