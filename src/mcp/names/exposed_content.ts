import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { metaOf } from "../protocol/revisions.ts";
import { exposedUri } from "./names.ts";

/** Returns an item of a list, or contents of a resource, with the URI that clients know. */
function withExposedUri(prefix: string, item: JsonObject): JsonObject {
  const { uri } = item;
  return typeof uri === "string"
    ? { ...item, uri: exposedUri(prefix, uri) }
    : item;
}

/** Returns a tool with the URI of its page (MCP Apps) as clients know it. */
export function withExposedPage(prefix: string, tool: JsonObject): JsonObject {
  const meta = metaOf(tool);
  const { ui, "ui/resourceUri": old } = meta;
  const page = isJsonObject(ui) ? ui["resourceUri"] : undefined;
  if (typeof page !== "string" && typeof old !== "string") return tool;
  return {
    ...tool,
    _meta: {
      ...meta,
      ...(isJsonObject(ui) && typeof page === "string" &&
        { ui: { ...ui, resourceUri: exposedUri(prefix, page) } }),
      ...(typeof old === "string" &&
        { "ui/resourceUri": exposedUri(prefix, old) }),
    },
  };
}

/** Returns the result of a request with the URIs that clients know. URIs within texts stay as they are. */
export function exposeResult(
  method: string,
  prefix: string,
  result: JsonObject,
): JsonObject {
  if (prefix === "") return result;
  const { content, messages, contents } = result;
  const isCall = method === "tools/call" || method === "tasks/result";
  if (isCall && Array.isArray(content)) {
    return {
      ...result,
      content: content.map((block) => exposeBlock(prefix, block)),
    };
  }
  if (method === "prompts/get" && Array.isArray(messages)) {
    return {
      ...result,
      messages: messages.map((message) =>
        isJsonObject(message)
          ? { ...message, content: exposeBlock(prefix, message["content"]) }
          : message
      ),
    };
  }
  if (method === "resources/read" && Array.isArray(contents)) {
    return {
      ...result,
      contents: contents.map((each) =>
        isJsonObject(each) ? withExposedUri(prefix, each) : each
      ),
    };
  }
  return result;
}

function exposeBlock(prefix: string, block: unknown): unknown {
  if (!isJsonObject(block)) return block;
  const { type, resource } = block;
  if (type === "resource_link") return withExposedUri(prefix, block);
  return type === "resource" && isJsonObject(resource)
    ? { ...block, resource: withExposedUri(prefix, resource) }
    : block;
}
