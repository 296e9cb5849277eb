import type { JsonObject } from "../../base/json.ts";
import { OtherTools, type ServerTools, suspicionsOf } from "./suspicions.ts";
import type { ToolApproval, ToolLock } from "../servers/tool_approval.ts";
import {
  definitionOf,
  digestOfTool,
  type HeldReason,
  heldReason,
} from "./tool_lock.ts";

/** The tools that a server lists now. */
export interface ListedTools extends ServerTools {
  readonly approval: ToolApproval["kind"] | undefined;
  readonly lock: ToolLock | undefined;
  /** Set if the server does not list them: there are no items then. */
  readonly error: string | undefined;
}

/** The tools of a server, for those who approve them. */
export interface DescribedServerTools {
  readonly server: string;
  /** Place of its approved definitions: a lock file, or the gateway, which saw them first; not set if clients get all tools. */
  readonly approval?: ToolApproval["kind"];
  /** Set if the server does not list its tools. */
  readonly error?: string;
  readonly tools: readonly DescribedTool[];
}

/** A tool, for those who approve it. */
export interface DescribedTool {
  readonly definition: JsonObject;
  /** Hash of the definition: an approval is for nothing else. */
  readonly digest: string;
  /** Set if clients do not get the tool. */
  readonly held?: HeldReason;
  /** The approved definition of a tool that has changed; not set if it was too long to keep. */
  readonly approved?: JsonObject | undefined;
  /** Set if there are some; see `suspicionsOf`. */
  readonly suspicions?: readonly string[];
}

/** Describes tools with what is held back, and what is suspicious about them. */
export function describeTools(
  listed: readonly ListedTools[],
): readonly DescribedServerTools[] {
  return listed.map(({ server, approval, lock, items, error }) => {
    const others = new OtherTools(
      listed.filter((each) => each.server !== server),
      items,
    );
    return {
      server,
      ...(approval !== undefined && { approval }),
      ...(error !== undefined && { error }),
      tools: Array.from(
        items.values(),
        (item) => describeTool(lock, item, others),
      ),
    };
  });
}

function describeTool(
  lock: ToolLock | undefined,
  item: JsonObject,
  others: OtherTools,
): DescribedTool {
  const held = heldReason(lock, item);
  const suspicions = suspicionsOf(item, others);
  return {
    definition: definitionOf(item),
    digest: digestOfTool(item),
    ...(held !== undefined && { held }),
    ...(held === "changed" &&
      { approved: lock?.get(String(item["name"]))?.definition }),
    ...(suspicions.length > 0 && { suspicions }),
  };
}
