import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import {
  type Era,
  gatewayInfo,
  META,
  metaOf,
  passingMeta,
  withMeta,
} from "../protocol/revisions.ts";

/** Methods whose results clients of 2026-07-28 may keep (MCP 2026-07-28, "Caching"). */
const cacheable: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "server/discover",
]);

/** Returns the result of a method as clients of an era read it. */
export function resultForEra(
  era: Era,
  method: string,
  result: JsonObject,
): JsonObject {
  const meta = metaForEra(era, result);
  if (era === "legacy") {
    const { resultType: _, ttlMs: __, cacheScope: ___, ...rest } = result;
    return withMeta(forLegacy(method, rest), meta);
  }
  return withMeta({
    resultType: "complete",
    ...(cacheable.has(method) && { ttlMs: 0 }),
    ...forModern(method, result),
    // Rules of routes differ between users, whatever the server says.
    ...(cacheable.has(method) && { cacheScope: "private" }),
  }, meta);
}

/** Returns `_meta` of a result as clients of an era read it; empty for none. */
export function metaForEra(era: Era, result: JsonObject): JsonObject {
  const meta = passingMeta(result);
  if (era === "modern") return { ...meta, [META.SERVER_INFO]: gatewayInfo };
  const related = metaOf(result)[META.RELATED_TASK];
  return {
    ...meta,
    ...(related !== undefined && { [META.RELATED_TASK]: related }),
  };
}

/** Structured results that are no objects, and schemas of such results, are new in 2026-07-28. */
function forLegacy(method: string, result: JsonObject): JsonObject {
  const { tools, structuredContent } = result;
  if (method === "tools/list" && Array.isArray(tools)) {
    return { ...result, tools: tools.map(withLegacySchemas) };
  }
  if (
    method !== "tools/call" || structuredContent === undefined ||
    isJsonObject(structuredContent)
  ) return result;
  const { structuredContent: _, ...rest } = result;
  return rest;
}

/** Omits how a tool runs, which 2026-07-28 does not have any more. */
function forModern(method: string, result: JsonObject): JsonObject {
  const { tools } = result;
  return method === "tools/list" && Array.isArray(tools)
    ? { ...result, tools: tools.map(withoutExecution) }
    : result;
}

function withoutExecution(tool: unknown): unknown {
  if (!isJsonObject(tool) || tool["execution"] === undefined) return tool;
  const { execution: _, ...rest } = tool;
  return rest;
}

function withLegacySchemas(tool: unknown): unknown {
  if (!isJsonObject(tool)) return tool;
  const { outputSchema, ...rest } = tool;
  const output = isJsonObject(outputSchema) && outputSchema["type"] === "object"
    ? { outputSchema: withObjectProperties(outputSchema) }
    : {};
  const inputSchema = withObjectProperties(tool["inputSchema"]);
  return { ...rest, inputSchema, ...output };
}

/** Replaces schemas of properties that are booleans, for which the SDK in TypeScript rejects the whole list. */
function withObjectProperties(schema: unknown): unknown {
  if (!isJsonObject(schema) || !isJsonObject(schema["properties"])) {
    return schema;
  }
  const properties = Object.entries(schema["properties"]);
  if (!properties.some(([, property]) => typeof property === "boolean")) {
    return schema;
  }
  const replaced = properties.map(([name, property]) => [
    name,
    property === true ? {} : property === false ? { not: {} } : property,
  ]);
  return { ...schema, properties: Object.fromEntries(replaced) };
}

/** Returns an error of a server as clients of an era know it. */
export function failureForEra(
  era: Era,
  method: string,
  failure: RpcFailure,
): RpcFailure {
  const { code, message, data } = failure;
  if (method === "resources/read") {
    if (era === "modern" && code === RPC.RESOURCE_NOT_FOUND) {
      return new RpcFailure(RPC.INVALID_PARAMS, message, data);
    }
    if (era === "legacy" && code === RPC.INVALID_PARAMS) {
      return new RpcFailure(RPC.RESOURCE_NOT_FOUND, message, data);
    }
  }
  // It is about a connection of the gateway, and legacy clients do not know it.
  return era === "legacy" && code === RPC.MISSING_CAPABILITY
    ? new RpcFailure(RPC.INTERNAL_ERROR, message, data)
    : failure;
}
