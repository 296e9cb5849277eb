import type {
  LockedTool,
  Revocation,
  ToolLock,
} from "../../../mcp/servers/tool_approval.ts";
import { revokedTool } from "../../../mcp/approval/tool_lock.ts";
import {
  approved,
  pinned,
  type PinPlace,
  type ToolPins,
} from "../../../mcp/approval/tool_pins.ts";

/** Approved tools by server, where they are kept. */
export interface PinRecords {
  /** Rejects when the store fails, as `change` does. */
  read(place: PinPlace): Promise<ToolLock | undefined>;
  /** Writes the result of `edit`, unless it is what it got; repeats it when another process writes in between. */
  change(
    place: PinPlace,
    edit: (before: ToolLock | undefined) => ToolLock,
  ): Promise<ToolLock>;
  close(): Promise<void>;
}

/** Approved tools of MCP servers without a lock file, for all threads. */
export class PinBook implements ToolPins {
  readonly #records: PinRecords;

  constructor(records: PinRecords) {
    this.#records = records;
  }

  read(place: PinPlace): Promise<ToolLock | undefined> {
    return this.#records.read(place);
  }

  pin(
    place: PinPlace,
    tools: ReadonlyMap<string, LockedTool>,
    newTools: boolean,
  ): Promise<ToolLock> {
    return this.#records.change(
      place,
      (before) => pinned(before, tools, newTools),
    );
  }

  /** Approves tools as an administrator has seen them. Rejects when the store fails. */
  async approve(
    place: PinPlace,
    tools: ReadonlyMap<string, LockedTool>,
  ): Promise<void> {
    await this.#records.change(place, (before) => approved(before, tools));
  }

  /** Revokes the approval of tools; clients get them again when an administrator approves them. Rejects when the store fails. */
  revoke(
    place: PinPlace,
    names: readonly string[],
    revocation: Revocation,
  ): Promise<void> {
    const tool = revokedTool(revocation);
    return this.approve(place, new Map(names.map((name) => [name, tool])));
  }

  close(): Promise<void> {
    return this.#records.close();
  }
}

/** Keeps what is approved as long as the process runs. Only the configuration names servers. */
export class MemoryPinRecords implements PinRecords {
  readonly #locks = new Map<string, ToolLock>();

  read(place: PinPlace): Promise<ToolLock | undefined> {
    return Promise.resolve(this.#locks.get(idOf(place)));
  }

  change(
    place: PinPlace,
    edit: (before: ToolLock | undefined) => ToolLock,
  ): Promise<ToolLock> {
    const lock = edit(this.#locks.get(idOf(place)));
    this.#locks.set(idOf(place), lock);
    return Promise.resolve(lock);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function idOf({ backend, server }: PinPlace): string {
  return `${backend} ${server}`;
}
