import type { JsonObject } from "../../base/json.ts";
import type { Log } from "../../base/log.ts";
import { suspicionsOf } from "./suspicions.ts";
import {
  definitionOf,
  digestOfTool,
  type HeldReason,
  heldReason,
  type ToolLock,
} from "./tool_lock.ts";

/** The tools that a server lists now. */
export interface ListedTools {
  readonly server: string;
  readonly lock: ToolLock | undefined;
  /** Empty if the server does not list them. */
  readonly items: readonly JsonObject[];
  readonly error: string | undefined;
}

/** The tools of a server, for those who approve them. */
export interface DescribedServerTools {
  readonly server: string;
  /** A lock file has its approved definitions. */
  readonly isLocked: boolean;
  /** Set if the server does not list its tools. */
  readonly error?: string;
  readonly tools: readonly DescribedTool[];
}

/** A tool, for those who approve it. */
interface DescribedTool {
  readonly definition: JsonObject;
  /** Set if clients do not get the tool. */
  readonly held?: HeldReason;
  /** The approved definition of a tool that has changed. */
  readonly approved?: JsonObject | undefined;
  /** Set if there are some; see `suspicionsOf`. */
  readonly suspicions?: readonly string[];
}

/** Describes tools with what is held back, and what is suspicious about them. */
export function describeTools(
  listed: readonly ListedTools[],
): readonly DescribedServerTools[] {
  return listed.map(({ server, lock, items, error }) => {
    const others = listed.filter((each) => each.server !== server)
      .flatMap((each) => each.items.map(({ name }) => String(name)));
    return {
      server,
      isLocked: lock !== undefined,
      ...(error !== undefined && { error }),
      tools: items.map((item) => describeTool(lock, item, others)),
    };
  });
}

function describeTool(
  lock: ToolLock | undefined,
  item: JsonObject,
  others: readonly string[],
): DescribedTool {
  const held = heldReason(lock, item);
  const suspicions = suspicionsOf(item, others);
  return {
    definition: definitionOf(item),
    ...(held !== undefined && { held }),
    ...(held === "changed" &&
      { approved: lock?.get(String(item["name"]))?.definition }),
    ...(suspicions.length > 0 && { suspicions }),
  };
}

const SHOWN_TOOLS = 5;
const MAX_REPORTS = 1000;

/** Holds back tools that are not as approved, and logs those and suspicious ones, each once. */
export class ToolGuard {
  readonly #log: Log;
  readonly #reported = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Returns the tools that clients may get. */
  admitted(
    server: string,
    lock: ToolLock | undefined,
    items: ReadonlyMap<string, JsonObject>,
  ): ReadonlyMap<string, JsonObject> {
    const admitted = new Map<string, JsonObject>();
    const held: string[] = [];
    for (const [key, item] of items) {
      if (heldReason(lock, item) === undefined) admitted.set(key, item);
      else held.push(key);
      const problems = suspicionsOf(item, []);
      if (problems.length === 0) continue;
      this.#report(
        `suspicion ${server} ${digestOfTool(item)}`,
        () =>
          this.#log.warn("A tool of an MCP server is suspicious", {
            server,
            tool: key,
            problems: problems.join("; "),
          }),
      );
    }
    if (held.length > 0) {
      this.#report(
        `held ${server} ${held.join("\n")}`,
        () =>
          this.#log.warn("Tools of an MCP server wait for approval", {
            server,
            tools: held.length,
            first: held.slice(0, SHOWN_TOOLS).join(", "),
          }),
      );
    }
    return admitted;
  }

  #report(id: string, report: () => void): void {
    if (this.#reported.has(id) || this.#reported.size >= MAX_REPORTS) return;
    this.#reported.add(id);
    report();
  }
}
