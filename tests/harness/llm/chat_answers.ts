import type { ProviderRequestSeen } from "./provider_server.ts";
import { eventStream } from "./llm_answers.ts";

const usage = { prompt_tokens: 14, completion_tokens: 5, total_tokens: 19 };
const toolCall = {
  id: "call12345",
  type: "function",
  function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
};

/** Some SDKs send `null` or an empty list. */
function hasTools({ tools }: { readonly tools?: unknown }): boolean {
  return Array.isArray(tools) && tools.length > 0;
}

/** Acts as Mistral, which reports the usage of a stream in its last chunk without being asked. */
export function answerMistral(request: ProviderRequestSeen): Response {
  return answerChat(request, true);
}

/** Acts as OpenAI's chat completions: a text, or a call of the tool that the request has. */
export function answerChat(
  { body }: ProviderRequestSeen,
  reportsAlways = false,
): Response {
  const { stream, model, stream_options: options, ...more } = JSON.parse(body);
  const isCall = hasTools(more);
  const message = !isCall
    ? { role: "assistant", content: "Hello there" }
    : { role: "assistant", content: "", tool_calls: [toolCall] };
  const reason = isCall ? "tool_calls" : "stop";
  const head = { id: "chatcmpl-1", created: 1, model };
  if (stream !== true) {
    return Response.json({
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: reason }],
      usage,
    });
  }
  const chunk = (delta: unknown, finish_reason: string | null = null) => ({
    ...{ ...head, object: "chat.completion.chunk" },
    choices: [{ index: 0, delta, finish_reason }],
  });
  return eventStream([
    ...!isCall
      ? ["Hello", " there"].map((content) =>
        chunk({ role: "assistant", content })
      )
      : [chunk({ tool_calls: [{ index: 0, ...toolCall }] })],
    { ...chunk({ content: "" }, reason), ...(reportsAlways && { usage }) },
    ...(options?.include_usage && !reportsAlways
      ? [{ ...chunk({}), choices: [], usage }]
      : []),
  ]);
}

/** Acts as Cohere's chat. */
export function answerCohere({ body }: ProviderRequestSeen): Response {
  const { stream, ...more } = JSON.parse(body);
  const isCall = hasTools(more);
  const tokens = { input_tokens: 14, output_tokens: 5 };
  const used = { billed_units: tokens, tokens };
  const reason = isCall ? "TOOL_CALL" : "COMPLETE";
  if (stream !== true) {
    const message = !isCall
      ? { role: "assistant", content: [{ type: "text", text: "Hello there" }] }
      : { role: "assistant", tool_calls: [toolCall], tool_plan: "I ask." };
    return Response.json({
      id: "c1",
      finish_reason: reason,
      message,
      usage: used,
    });
  }
  const content = (text: string) => ({ message: { content: { text } } });
  return eventStream([
    { type: "message-start", id: "c1", delta: { message: {} } },
    ...["Hello", " there"].map((text) => ({
      ...{ type: "content-delta", index: 0, delta: content(text) },
    })),
    { type: "message-end", delta: { finish_reason: reason, usage: used } },
  ]);
}

/** Acts as Ollama. */
export function answerOllama({ body }: ProviderRequestSeen): Response {
  const { stream, model, ...more } = JSON.parse(body);
  const isCall = hasTools(more);
  const head = { model, created_at: "2026-01-01T00:00:00Z" };
  const call = {
    function: { name: "get_weather", arguments: { city: "Oslo" } },
  };
  const messages = !isCall
    ? ["Hello", " there"].map((content) => ({ role: "assistant", content }))
    : [{ role: "assistant", content: "", tool_calls: [call] }];
  const end = { done: true, done_reason: "stop" };
  const counts = { prompt_eval_count: 14, eval_count: 5 };
  if (stream === false) {
    const [first] = messages;
    const content = !isCall ? "Hello there" : "";
    const message = { ...first, content };
    return Response.json({ ...head, message, ...end, ...counts });
  }
  const lines = [
    ...messages.map((message) => ({ ...head, message, done: false })),
    {
      ...{ ...head, message: { role: "assistant", content: "" } },
      ...{ ...end, ...counts },
    },
  ];
  return new Response(
    lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    { headers: { "content-type": "application/x-ndjson" } },
  );
}
