import { mapValue, type Value } from "../cel/library.ts";
import { claimsValue, lazyMap } from "../cel/values.ts";
import type { McpMessage, McpTarget } from "./mcp_message.ts";

/** Creates the value of the variable `mcp`. */
export function mcpValue(message: McpMessage): Value {
  const fields = Object.entries(message).map(([name, value]) =>
    [name, typeof value === "string" ? value : targetValue(value)] as const
  );
  return mapValue(new Map(fields));
}

/** Creates the value of a target. Arguments may be large, so they are converted on first use. */
function targetValue({ name, arguments: args }: McpTarget): Value {
  return lazyMap(() => ["name", "arguments"], (field) => {
    if (field === "name") return name;
    return field === "arguments" && args !== undefined
      ? claimsValue(args)
      : undefined;
  });
}
