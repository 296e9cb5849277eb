/** Bytes by kind, such as `{ rss: 1, pss: 2, privateDirty: 3 }`, as proc(5) has them in `smaps_rollup`. */
export type Smaps = Readonly<Record<string, number>>;

/** What the control group of the process uses and may use, in bytes; `null` is no limit. */
export interface Cgroup {
  readonly version: 1 | 2;
  readonly usageBytes: number;
  readonly limitBytes: number | null;
}

/** What Linux says about the memory of the process; `null` is what it does not say. */
export interface SystemMemory {
  readonly smaps: Smaps | null;
  readonly cgroup: Cgroup | null;
}

/**
 * The files of Linux about the memory of the process, opened ahead: Deno lets only programs open them that may do everything,
 * and the gateway gives that up before it serves. The executable never may, so it has none: a right to deny, such as
 * `--deny-ffi`, is enough to lose it, and links and file descriptors that lead there are refused as well.
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

/** Lines such as `Private_Dirty:   1024 kB`. */
export function parseSmaps(text: string): Smaps {
  const rows = text.matchAll(/^([A-Za-z_]+): +([0-9]+) kB$/gm);
  return Object.fromEntries(
    [...rows].map(([, name = "", size]) => [nameOf(name), Number(size) * 1024]),
  );
}

/** `Private_Dirty` → `privateDirtyBytes`, `Rss` → `rssBytes`. */
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
  // In a container, the group that it sees as its own is mounted at the root.
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
  // "max" in version 2; version 1 has no word for it, it is the largest number of pages.
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
