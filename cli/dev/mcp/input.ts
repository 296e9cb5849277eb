import type {
  ElicitRequestFormParams,
  InputRequest,
} from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

/**
 * Result of a tool or prompt that needs input of the client: it is called again with the responses (MCP 2026-07-28, "Multi
 * round-trip requests"). For clients of older revisions, the SDK sends the requests itself.
 */
export interface InputNeeded {
  /** Requests by the name under which `Caller.response` finds the response. */
  readonly requests: Readonly<Record<string, InputRequest>>;
  /** Becomes `Caller.state` of the next call; the client carries it, signed. */
  readonly state?: JsonObject;
}

/** Form of an elicitation: a flat object of primitive properties. */
export type FormSchema = ElicitRequestFormParams["requestedSchema"];

/** Asks the client's user to fill in a form. */
export function askUser(
  message: string,
  requestedSchema: FormSchema,
): InputRequest {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema },
  };
}

/** Asks the client's model. */
export function askModel(prompt: string): InputRequest {
  const content = { type: "text" as const, text: prompt };
  return {
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content }], maxTokens: 100 },
  };
}

/** Returns the text of the model's response; `undefined` unless there is one. */
export function modelText(
  response: JsonObject | undefined,
): string | undefined {
  const content = response?.["content"];
  return isJsonObject(content) && typeof content["text"] === "string"
    ? content["text"]
    : undefined;
}
