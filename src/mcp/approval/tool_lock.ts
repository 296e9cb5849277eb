import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { HeldReason } from "./tool_descriptions.ts";
import type {
  LockedTool,
  Revocation,
  ToolLock,
} from "../servers/tool_approval.ts";

/** Members of a tool that models or clients act on. */
const members = [
  "name",
  "title",
  "description",
  "inputSchema",
  "outputSchema",
  "annotations",
  "icons",
  "_meta",
] as const;

/** Returns the part of a tool that an approval is about. */
export function definitionOf(tool: JsonObject): JsonObject {
  return Object.fromEntries(
    members.filter((name) => tool[name] !== undefined)
      .map((name) => [name, tool[name]]),
  );
}

/** Returns a hash of the definition of a tool, which does not depend on the order of members. */
export function digestOfTool(tool: JsonObject): string {
  const text = JSON.stringify(sorted(definitionOf(tool)));
  return createHash("sha256").update(text).digest("base64url");
}

/** Returns the entry of a lock for a tool as it is now. */
export function lockedTool(tool: JsonObject): LockedTool {
  return { digest: digestOfTool(tool), definition: definitionOf(tool) };
}

/** The digest of a tool whose approval was revoked, which no definition has. */
export const REVOKED_DIGEST = "";

/** Returns the entry of a tool whose approval was revoked; `newTools` does not approve it anew. */
export function revokedTool(revoked: Revocation): LockedTool {
  return { digest: REVOKED_DIGEST, revoked };
}

/** Reports whether a tool is held back. */
export function heldReason(
  lock: ToolLock | undefined,
  tool: JsonObject,
): HeldReason | undefined {
  if (lock === undefined) return undefined;
  const approved = lock.get(String(tool["name"]));
  if (approved === undefined) return "new";
  if (approved.digest === REVOKED_DIGEST) return "revoked";
  return approved.digest === digestOfTool(tool) ? undefined : "changed";
}

/**
 * Reads a lock file, `{"servers": {"docs": {"tools": [{"name": "find", …}]}}}`; returns the locks by server.
 * @throws {TypeError} When it is not a lock file.
 */
export function readLockFile(text: string): ReadonlyMap<string, ToolLock> {
  const content: unknown = parse(text);
  const servers = isJsonObject(content) ? content["servers"] : undefined;
  if (!isJsonObject(servers)) throw new TypeError('"servers" is missing');
  return new Map(
    Object.entries(servers).map(([server, entry]) => {
      const tools: unknown = isJsonObject(entry) ? entry["tools"] : undefined;
      if (!Array.isArray(tools)) {
        throw new TypeError(`"tools" of server "${server}" is not a list`);
      }
      return [server, new Map(tools.map((tool) => lockOf(server, tool)))];
    }),
  );
}

function lockOf(server: string, tool: unknown): [string, LockedTool] {
  if (!isJsonObject(tool) || typeof tool["name"] !== "string") {
    throw new TypeError(`a tool of server "${server}" has no name`);
  }
  return [tool["name"], lockedTool(tool)];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TypeError("it is not JSON");
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value).sort().map((name) => [name, sorted(value[name])]),
  );
}
