import type { JsonObject } from "../../base/json.ts";
import { OtherTools, type ServerTools, suspicionsOf } from "./suspicions.ts";
import type {
  DescribedServerTools,
  DescribedTool,
} from "./tool_descriptions.ts";
import { exposedName } from "../names/names.ts";
import type { ToolApproval, ToolLock } from "../servers/tool_approval.ts";
import { definitionOf, digestOfTool, heldReason } from "./tool_lock.ts";

/** The tools that a server lists now. */
export interface ListedTools extends ServerTools {
  readonly approval: ToolApproval["kind"] | undefined;
  readonly lock: ToolLock | undefined;
  /** Set if the server does not list them: there are no items then. */
  readonly error: string | undefined;
}

/** Describes tools with what is held back, and what is suspicious about them. */
export function describeTools(
  listed: readonly ListedTools[],
): readonly DescribedServerTools[] {
  return listed.map(({ server, prefix, approval, lock, items, error }) => {
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
        (item) => ({
          name: exposedName(prefix, String(item["name"])),
          ...describeTool(lock, item, others),
        }),
      ),
    };
  });
}

function describeTool(
  lock: ToolLock | undefined,
  item: JsonObject,
  others: OtherTools,
): Omit<DescribedTool, "name"> {
  const held = heldReason(lock, item);
  const suspicions = suspicionsOf(item, others);
  return {
    definition: definitionOf(item),
    digest: digestOfTool(item),
    ...(held !== undefined && { held }),
    ...(held === "changed" &&
      { approved: lock?.get(String(item["name"]))?.definition }),
    ...(held === "revoked" &&
      { revoked: lock?.get(String(item["name"]))?.revoked }),
    ...(suspicions.length > 0 && { suspicions }),
  };
}
