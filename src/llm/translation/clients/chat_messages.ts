import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { BoundedJson } from "../../../base/json/bounded_json.ts";
import { MAX_QUOTED_VALUES } from "../conversation/answer_format.ts";
import type {
  CacheMark,
  ChatRequest,
  ContentPart,
  Part,
  TextPart,
  Turn,
} from "../conversation/conversation.ts";
import { FieldReader } from "../conversation/field_reader.ts";
import { splitCallId } from "../conversation/fitted_names.ts";
import { malformed, noCounterpart } from "../conversation/losses.ts";
import { readFile, readImageUrl } from "./content_parts.ts";

/**
 * Reads the messages of a chat: those of the system that come first, and the turns.
 * @throws {UntranslatableError}
 */
export function readMessages(
  fields: FieldReader,
): Pick<ChatRequest, "system" | "turns"> {
  const system: TextPart[] = [];
  const turns: { role: Turn["role"]; parts: Part[] }[] = [];
  const json = new BoundedJson(MAX_QUOTED_VALUES);
  for (const message of fields.objects("messages")) {
    const role = message.text("role");
    message.hint("name");
    // Of servers that let the model go on with a message.
    message.accept("prefix", false);
    const cache = message.cache();
    const isSystem = role === "system" || role === "developer";
    const parts = marked(
      isSystem ? textsOf(message) : readParts(message, role, json),
      cache,
    );
    message.end();
    const side = isSystem
      ? "system"
      : role === "assistant"
      ? "assistant"
      : "user";
    const last = turns.at(-1);
    if (isSystem && turns.length === 0) {
      system.push(...parts.filter((part) => part.type === "text"));
    } else if (last?.role === side) last.parts.push(...parts);
    else turns.push({ role: side, parts: [...parts] });
  }
  return { system, turns };
}

/** Puts a mark of a whole message on its last part. */
function marked(
  parts: readonly Part[],
  cache: CacheMark | undefined,
): readonly Part[] {
  const last = parts.at(-1);
  if (cache === undefined || last === undefined || last.type === "thinking") {
    return parts;
  }
  return [...parts.slice(0, -1), { ...last, cache }];
}

function readParts(
  message: FieldReader,
  role: string | undefined,
  json: BoundedJson,
): readonly Part[] {
  if (role === "user") return readContent(message);
  if (role === "tool") {
    const id = message.required("tool_call_id", message.text("tool_call_id"));
    const content = readContent(message);
    return [{
      type: "toolResult",
      id: splitCallId(id).id,
      content,
      isError: false,
    }];
  }
  if (role !== "assistant") throw noCounterpart(message.at("role"));
  // The reasoning is in `thinking_blocks` with its signature.
  message.ignore("reasoning_content", "reasoning", "reasoning_details");
  message.ignore("annotations");
  const refusal = message.text("refusal");
  message.accept("audio");
  message.accept("function_call");
  return [
    ...message.objects("thinking_blocks").map(readThinking),
    ...readContent(message),
    ...(refusal === undefined
      ? []
      : [{ type: "text", text: refusal } as const]),
    ...message.objects("tool_calls").map((call) => readToolCall(call, json)),
  ];
}

function readThinking(block: FieldReader): Part {
  if (block.text("type") === "redacted_thinking") {
    const signature = block.text("data") ?? "";
    return { type: "thinking", text: "", signature, isRedacted: true };
  }
  return {
    type: "thinking",
    text: block.text("thinking") ?? "",
    signature: block.text("signature") ?? "",
  };
}

function readToolCall(call: FieldReader, json: BoundedJson): Part {
  call.accept("type", "function");
  const called = call.required("function", call.object("function"));
  const google = call.object("extra_content")?.object("google");
  const { id, signature } = splitCallId(call.required("id", call.text("id")));
  return {
    type: "toolCall",
    id,
    name: called.required("name", called.text("name")),
    input: readArguments(called, json),
    signature: google?.text("thought_signature") ?? signature,
  };
}

/**
 * Reads the arguments of a call, which are JSON in a string.
 * @throws {UntranslatableError}
 */
export function readArguments(
  called: FieldReader,
  json: BoundedJson,
): JsonObject {
  const text = called.text("arguments") ?? "";
  const input = text === "" ? {} : json.parse(text);
  if (isJsonObject(input)) return input;
  throw malformed(
    called.at("arguments"),
    `a JSON object in a string; all together have at most ${MAX_QUOTED_VALUES} values`,
  );
}

function readContent(message: FieldReader): readonly ContentPart[] {
  const content = message.value("content");
  if (content === undefined || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return message.objects("content").map((part) => {
    const breakpoint = part.object("prompt_cache_breakpoint");
    const cache = part.cache() ?? (breakpoint && { ttl: undefined });
    const read = readContentPart(part);
    part.end();
    return cache === undefined ? read : { ...read, cache };
  });
}

function readContentPart(part: FieldReader): ContentPart {
  const type = part.text("type");
  switch (type) {
    case "text":
      return { type, text: part.required("text", part.text("text")) };
    case "refusal":
      return { type: "text", text: part.text("refusal") ?? "" };
    case "image_url":
      return readImageUrl(
        part.required("image_url", part.object("image_url")),
        "url",
      );
    case "file":
      return readFile(part.required("file", part.object("file")));
    default:
      throw noCounterpart(`${part.at("type")}: ${type}`);
  }
}

function textsOf(message: FieldReader): readonly TextPart[] {
  return readContent(message).map((part) => {
    if (part.type === "text") return part;
    throw noCounterpart(message.at("content"));
  });
}
