import { estimateInput } from "../../../src/llm/request/input_estimate.ts";
import {
  awsEventStream,
  awsMessage,
  bytesOf,
  events,
  namedEvents,
  sse,
} from "./llm_responses.ts";

/** Parts of a stream; others are calls of tools that the provider runs, by their type. */
export type PartKind =
  | "text"
  | "arguments"
  | "call"
  | "reasoning"
  | "summary"
  | "hidden"
  | "redacted"
  | "result";

/** Measures of one recorded stream and its request: they have the sizes of the recording, not its content. */
export interface StreamShape {
  readonly name: string;
  readonly api: "chat" | "responses" | "messages" | "converse";
  readonly model: string;
  readonly request: {
    readonly text: number;
    readonly blanks: number;
    readonly schema: number;
    readonly messages: number;
    readonly calls: number;
    readonly literals: number;
    readonly tools: boolean;
    readonly reasoning: boolean;
  };
  /** Input and output in the first event of Anthropic. */
  readonly start?: readonly [input: number, output: number];
  readonly events: readonly (readonly [
    kind: string,
    bytes: number,
    pieces?: number,
  ])[];
  /** Reported at the end. */
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly reasoning?: number;
  };
}

/** One event of a stream. */
export interface ShapedEvent {
  readonly kind: string;
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Reads the shapes of streams that the tests of a public project recorded from a dozen providers. */
export async function readStreamShapes(): Promise<StreamShape[]> {
  const url = new URL(
    "../../fixtures/llm/stream_shapes.jsonl",
    import.meta.url,
  );
  const text = await Deno.readTextFile(url);
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

export function contentTypeOf({ api }: StreamShape): string {
  return api === "converse" ? awsEventStream : sse;
}

/** Returns a request with the measures of the recorded one. */
export function requestOf({ request, model }: StreamShape): Uint8Array {
  const { text, blanks, schema, messages, calls, literals } = request;
  const definitions = [schema < 4 ? [] : ["x".repeat(schema - 3)]];
  const members = [
    `"model":${JSON.stringify(model)}`,
    `"prompt":"${" ".repeat(blanks)}${"x".repeat(text - blanks)}"`,
    ...Array<string>(messages).fill('"role":"user"'),
    ...Array<string>(calls).fill('"arguments":""'),
    ...Array<string>(literals).fill('"n":1'),
    ...request.reasoning ? ['"reasoning":""'] : [],
    ...schema > 0
      ? definitions.map((each) =>
        `"${request.tools ? "tools" : "schema"}":${JSON.stringify(each)}`
      )
      : [],
  ];
  return bytesOf(`{${members.join()}}`);
}

/** Estimates the input of the recorded request. */
export function inputOf(shape: StreamShape): number {
  return estimateInput(requestOf(shape));
}

/** Returns the events of the stream, up to the one that reports the usage. */
export function eventsOf(shape: StreamShape): ShapedEvent[] {
  const first = formats[shape.api]("start", "", shape);
  const parts = shape.events.flatMap(([kind, size, pieces = 1]) =>
    Array.from({ length: pieces }, (_, index) => {
      const from = Math.round(size * index / pieces);
      const to = Math.round(size * (index + 1) / pieces);
      const bytes = formats[shape.api](kind, "x".repeat(to - from), shape);
      return { kind, size: to - from, bytes };
    })
  );
  return [{ kind: "start", size: 0, bytes: first }, ...parts];
}

type Format = (kind: string, value: string, shape: StreamShape) => Uint8Array;

const formats: Readonly<Record<StreamShape["api"], Format>> = {
  chat: (kind, value, { model }) => {
    const delta = kind === "text" || kind === "start"
      ? { content: value }
      : kind === "reasoning"
      ? { reasoning_content: value }
      : kind === "call"
      ? { tool_calls: [{ id: "c", function: { name: value, arguments: "" } }] }
      : { tool_calls: [{ index: 0, function: { arguments: value } }] };
    return bytesOf(
      events({ model, choices: [{ index: 0, delta }], usage: null }),
    );
  },
  responses: (kind, value, { model }) => {
    const event = (type: string, more: unknown) =>
      bytesOf(namedEvents({ type: `response.${type}`, ...Object(more) }));
    const deltas: Readonly<Record<string, string>> = {
      text: "output_text.delta",
      arguments: "function_call_arguments.delta",
      reasoning: "reasoning_text.delta",
      summary: "reasoning_summary_text.delta",
    };
    const delta = deltas[kind];
    if (delta !== undefined) {
      return event(delta, { item_id: "i", delta: value });
    }
    switch (kind) {
      case "start":
        return event("created", { response: { model, usage: null } });
      case "call":
        return event("output_item.added", {
          item: { type: "function_call", name: value },
        });
      case "hidden":
        return event("output_item.done", {
          item: { type: "reasoning", encrypted_content: value },
        });
      default:
        return event(`${kind}.completed`, { item_id: "i" });
    }
  },
  messages: (kind, value, { model, start: [input, output] = [0, 0] }) => {
    const block = (block: unknown) =>
      event("content_block_start", { index: 0, content_block: block });
    const delta = (delta: unknown) =>
      event("content_block_delta", { index: 0, delta });
    const event = (type: string, more: unknown) =>
      bytesOf(namedEvents({ type, ...Object(more) }));
    switch (kind) {
      case "start":
        return event("message_start", {
          message: {
            model,
            usage: { input_tokens: input, output_tokens: output },
          },
        });
      case "call":
        return block({ type: "tool_use", id: "t", name: value, input: {} });
      case "redacted":
        return block({ type: "redacted_thinking", data: value });
      case "result": {
        const result = { type: "web_search_tool_result", content: "" };
        const { length } = JSON.stringify(result);
        return block({ ...result, content: value.slice(length) });
      }
      case "reasoning":
        return delta({ type: "thinking_delta", thinking: value });
      case "hidden":
        return delta({ type: "signature_delta", signature: value });
      case "arguments":
        return delta({ type: "input_json_delta", partial_json: value });
      default:
        return delta({ type: "text_delta", text: value });
    }
  },
  converse: (kind, value) => {
    if (kind === "start") return awsMessage("messageStart", { role: "a" });
    if (kind === "call") {
      const toolUse = { toolUseId: "t", name: value };
      return awsMessage("contentBlockStart", { start: { toolUse } });
    }
    const deltas: Readonly<Record<string, unknown>> = {
      text: { text: value },
      arguments: { toolUse: { input: value } },
      reasoning: { reasoningContent: { text: value } },
      hidden: { reasoningContent: { signature: value } },
      redacted: { reasoningContent: { redactedContent: value } },
    };
    return awsMessage("contentBlockDelta", { delta: deltas[kind] });
  },
};
