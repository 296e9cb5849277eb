import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../base/json.ts";
import { sealReasoning } from "./reasoning_items.ts";

/** The item that is being written. */
export interface OpenItem {
  readonly type: "message" | "reasoning" | "function_call" | "custom_tool_call";
  readonly id: string;
  /** Of a call. */
  readonly call: JsonObject;
  text: string;
  signature: string;
  isRedacted: boolean;
}

/** Prefixes of ids, by the type of the item. */
export const itemPrefixes: Readonly<Record<OpenItem["type"], string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
};

/** Place of the only part of a message, in its events. */
export const firstPart = { content_index: 0 };
/** Place of the only part of a summary. */
export const firstSummary = { summary_index: 0 };

/** An item that is complete, and the events that say so: their type and fields. */
interface FinishedItem {
  readonly item: JsonObject;
  readonly events: readonly (readonly [type: string, fields: JsonObject])[];
}

/** Completes an item. */
export function finishItem(open: OpenItem): FinishedItem {
  switch (open.type) {
    case "message":
      return finishMessage(open);
    case "reasoning":
      return finishReasoning(open);
    case "function_call":
      return finishCall(open);
    case "custom_tool_call":
      return finishCustomCall(open);
  }
}

function finishMessage({ id, type, text }: OpenItem): FinishedItem {
  const part = { type: "output_text", text, annotations: [] };
  return {
    item: { id, type, status: "completed", role: "assistant", content: [part] },
    events: [
      ["response.output_text.done", { ...firstPart, text, logprobs: [] }],
      ["response.content_part.done", { ...firstPart, part }],
    ],
  };
}

function finishReasoning(
  { id, type, text, signature, isRedacted }: OpenItem,
): FinishedItem {
  const thought = { type: "thinking", text, signature, isRedacted } as const;
  const part = { type: "summary_text", text };
  const summary = text === "" ? [] : [part];
  return {
    item: { id, type, summary, encrypted_content: sealReasoning(thought) },
    events: text === "" ? [] : [
      ["response.reasoning_summary_text.done", { ...firstSummary, text }],
      ["response.reasoning_summary_part.done", { ...firstSummary, part }],
    ],
  };
}

function finishCall({ id, type, call, text }: OpenItem): FinishedItem {
  const args = text || "{}";
  const done = { arguments: args, name: call["name"] };
  return {
    item: { id, type, status: "completed", ...call, arguments: args },
    events: [["response.function_call_arguments.done", done]],
  };
}

function finishCustomCall({ id, type, call, text }: OpenItem): FinishedItem {
  const value = parseJson(text);
  const input = isJsonObject(value) ? String(value["input"] ?? "") : text;
  return {
    item: { id, type, status: "completed", ...call, input },
    events: [
      ["response.custom_tool_call_input.delta", { delta: input }],
      ["response.custom_tool_call_input.done", { input }],
    ],
  };
}
