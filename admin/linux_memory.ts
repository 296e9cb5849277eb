/** Bytes by kind, such as `{ rss: 1, pss: 2, privateDirty: 3 }`, as proc(5) has them in `smaps_rollup`. */
export type Smaps = Readonly<Record<string, number>>;

/** What the control group of the process uses and may use, in bytes; `null` is no limit. */
export interface Cgroup {
  readonly version: 1 | 2;
  readonly usageBytes: number;
  readonly limitBytes: number | null;
}

/**
 * `null` where `/proc` may not be read: Deno lets only programs do it that may do everything, which the executable may not.
 */
export async function readSmaps(): Promise<Smaps | null> {
  const text = await readIfAllowed("/proc/self/smaps_rollup");
  return text === null ? null : parseSmaps(text);
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
  return `${joined[0]?.toLowerCase()}${joined.slice(1)}Bytes`;
}

/** `null` without control groups, and where they may not be read. */
export async function readCgroup(): Promise<Cgroup | null> {
  const own = await readIfAllowed("/proc/self/cgroup");
  if (own === null) return null;
  const [, unified] = /^0::(.*)$/m.exec(own) ?? [];
  const [, memory] = /^[0-9]+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own) ??
    [];
  const root = "/sys/fs/cgroup";
  // In a container, the group that it sees as its own is mounted at the root.
  return await readGroup(`${root}${unified}`, 2) ??
    await readGroup(root, 2) ??
    await readGroup(`${root}/memory${memory}`, 1) ??
    await readGroup(`${root}/memory`, 1);
}

async function readGroup(path: string, version: 1 | 2): Promise<Cgroup | null> {
  const [usage, limit] = version === 2
    ? ["memory.current", "memory.max"]
    : ["memory.usage_in_bytes", "memory.limit_in_bytes"];
  const used = await readIfAllowed(`${path}/${usage}`);
  if (used === null) return null;
  const allowed = Number(await readIfAllowed(`${path}/${limit}`) ?? "max");
  // Version 1 has no word for "no limit": it is the largest number of pages.
  const isLimit = allowed < Number.MAX_SAFE_INTEGER;
  return {
    version,
    usageBytes: Number(used),
    limitBytes: isLimit ? allowed : null,
  };
}

async function readIfAllowed(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    const isMissing = error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.NotCapable ||
      error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotADirectory;
    if (isMissing) return null;
    throw error;
  }
}
