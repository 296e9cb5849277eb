import type { LockedTool, ToolLock } from "../servers/tool_approval.ts";

/** Server whose tools are approved, by its name and the key of its backend. */
export interface PinPlace {
  readonly backend: string;
  readonly server: string;
}

/** Approved tools of servers without a lock file: shared by threads, and by processes with the same `config.kv`. */
export interface ToolPins {
  /** Returns the approved tools of a server, `undefined` before its first list. Rejects when the store fails. */
  read(place: PinPlace): Promise<ToolLock | undefined>;
  /**
   * Approves tools that are seen first, and returns all that are approved: those of a server that has none, and with `newTools` also
   * those with names that are not approved yet. Rejects when the store fails.
   */
  pin(
    place: PinPlace,
    tools: ReadonlyMap<string, LockedTool>,
    newTools: boolean,
  ): Promise<ToolLock>;
}

/** Number of approved tools per server; a list has no more either. */
const MAX_PINNED = 10_000;

/** Returns what is approved once tools were seen; `before` itself if nothing changes. See `ToolPins.pin`. */
export function pinned(
  before: ToolLock | undefined,
  tools: ReadonlyMap<string, LockedTool>,
  newTools: boolean,
): ToolLock {
  if (before !== undefined && !newTools) return before;
  const unseen = [...tools].filter(([name]) => before?.has(name) !== true)
    .slice(0, MAX_PINNED - (before?.size ?? 0));
  return before !== undefined && unseen.length === 0
    ? before
    : new Map([...before ?? [], ...unseen]);
}

/** Returns what is approved after an administrator has approved tools, or revoked that. */
export function approved(
  before: ToolLock | undefined,
  tools: ReadonlyMap<string, LockedTool>,
): ToolLock {
  return new Map([...before ?? [], ...tools].slice(-MAX_PINNED));
}
