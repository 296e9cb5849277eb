import type { InputRequest } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

/** Asks for the folders that the client works in. */
export const askRoots: InputRequest = { method: "roots/list" };

/** Returns what the user filled in; `undefined` unless the user accepted. */
export function acceptedForm(
  response: JsonObject | undefined,
): JsonObject | undefined {
  return response?.["action"] === "accept" && isJsonObject(response["content"])
    ? response["content"]
    : undefined;
}
