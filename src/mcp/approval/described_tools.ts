import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { runInSlices } from "../../base/slices.ts";
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

/** Describes tools with what is held back, and what is suspicious about them, in slices. */
export async function describeTools(
  listed: readonly ListedTools[],
  clock: Clock,
): Promise<readonly DescribedServerTools[]> {
  const described: DescribedServerTools[] = [];
  for (const each of listed) {
    const others = await OtherTools.create(
      listed.filter(({ server }) => server !== each.server),
      clock,
      each.items,
    );
    described.push(await runInSlices(describeServer(each, others), clock));
  }
  return described;
}

function* describeServer(
  { server, prefix, approval, lock, items, error }: ListedTools,
  others: OtherTools,
): Generator<void, DescribedServerTools> {
  const tools = [];
  for (const item of items.values()) {
    const name = exposedName(prefix, String(item["name"]));
    tools.push({ name, ...describeTool(lock, item, others) });
    yield;
  }
  return {
    server,
    ...(approval !== undefined && { approval }),
    ...(error !== undefined && { error }),
    tools,
  };
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
