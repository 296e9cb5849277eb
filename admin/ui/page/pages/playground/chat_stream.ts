/** Conversations through OpenAI's chat completions, which the gateway translates for every provider. */
import type { Exchanges } from "./sent_requests.ts";
import type { Tool } from "./mcp_client.ts";
import { eventsOf, type Target, textOf } from "./relay.ts";

/** A call that the model asks for. */
export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A message of a conversation. */
export interface ChatMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly content: string;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
}

/** Token counts of a response. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** A response as far as it has come. */
export interface ChatProgress {
  readonly message: ChatMessage;
  readonly usage?: ChatUsage;
  /** Milliseconds to the first part of the response. */
  readonly firstAfter?: number;
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function?: {
          readonly name?: string;
          readonly arguments?: string;
        };
      }[];
    };
  }[];
  readonly usage?: ChatUsage | null;
  readonly error?: { readonly message?: string };
}

/** A request to the model. */
export interface ChatRequest {
  readonly target: Target;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly Tool[];
}

/** Yields a response whenever more of it has come. @throws {Error} With the body of an unsuccessful response. */
export async function* chat(
  { target, headers, model, messages, tools }: ChatRequest,
  exchanges: Exchanges,
): AsyncGenerator<ChatProgress> {
  const start = exchanges.now();
  const response = await exchanges.send("chat", {
    ...target,
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      model,
      messages,
      stream: true,
      stream_options: { include_usage: true },
      ...(tools.length === 0 ? {} : { tools: tools.map(functionOf) }),
    }),
  });
  if (response.status >= 300) {
    const text = (await textOf(response)).trim();
    throw new Error(`status ${response.status}: ${text}`);
  }
  let progress: ChatProgress = { message: { role: "assistant", content: "" } };
  for await (const data of eventsOf(response)) {
    if (data === "[DONE]") continue;
    const chunk: Chunk = JSON.parse(data);
    if (chunk.error !== undefined) throw new Error(chunk.error.message);
    progress = {
      firstAfter: exchanges.now() - start,
      ...progress,
      ...(chunk.usage ? { usage: chunk.usage } : {}),
      message: extend(progress.message, chunk),
    };
    yield progress;
  }
}

function functionOf({ name, description, inputSchema }: Tool) {
  return {
    type: "function",
    function: { name, description, parameters: inputSchema },
  };
}

function extend(message: ChatMessage, { choices = [] }: Chunk): ChatMessage {
  const delta = choices[0]?.delta;
  if (delta === undefined) return message;
  const calls = [...message.tool_calls ?? []];
  for (const { index, id, function: part } of delta.tool_calls ?? []) {
    const old = calls[index];
    calls[index] = {
      id: id ?? old?.id ?? "",
      type: "function",
      function: {
        name: part?.name ?? old?.function.name ?? "",
        arguments: (old?.function.arguments ?? "") + (part?.arguments ?? ""),
      },
    };
  }
  return {
    role: "assistant",
    content: message.content + (delta.content ?? ""),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}
