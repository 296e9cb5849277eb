import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { CatalogReader } from "../catalog/server_entries.ts";
import { type Era, TASKS_EXTENSION } from "../protocol/revisions.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import { takesTasks } from "../servers/awaited_tasks.ts";

/** A client, as the methods of the endpoint see it. */
export interface Client extends CatalogReader {
  readonly era: Era;
  readonly capabilities: JsonObject;
  /** Ids of the tasks that a session has begun, the oldest first. */
  readonly tasks?: Set<string>;
  /**
   * Runs `work` in a conversation with a server in which calls may have effects.
   * @throws {ServerFailure}
   */
  converse<T>(
    server: McpServer,
    work: (connection: ServerConnection) => Promise<T>,
  ): Promise<T>;
}

/** Capabilities of clients that the gateway passes to servers, with the parts that it knows. */
const known: Readonly<Record<string, readonly string[]>> = {
  roots: ["listChanged"],
  sampling: ["context", "tools"],
  elicitation: ["form", "url"],
};

const none: JsonObject = {};

/** Returns the capabilities that servers are to know: those for which the gateway carries the requests. */
export function passedCapabilities(declared: unknown, era: Era): JsonObject {
  if (!isJsonObject(declared) || Object.keys(declared).length === 0) {
    return none;
  }
  const passed = Object.fromEntries(
    Object.entries(known).flatMap(([name, parts]) => {
      const value = declared[name];
      if (!isJsonObject(value)) return [];
      const kept = parts.filter((part) => Boolean(value[part])).map((part) => [
        part,
        part === "listChanged" ? true : {},
      ]);
      return [[name, Object.fromEntries(kept)]];
    }),
  );
  return era === "modern" && takesTasks(declared)
    ? { ...passed, extensions: { [TASKS_EXTENSION]: {} } }
    : passed;
}

/** Returns the capability that a client needs for a request of a server. */
export function neededCapability(method: string): string | undefined {
  switch (method) {
    case "elicitation/create":
      return "elicitation";
    case "sampling/createMessage":
      return "sampling";
    case "roots/list":
      return "roots";
    default:
      return undefined;
  }
}
