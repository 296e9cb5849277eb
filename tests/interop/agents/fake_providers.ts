/** Providers that reject what the real ones reject, and answer as a script says: a tool call until there are enough results. */
import { ResponsesWriter } from "../../../src/llm/translation/clients/responses_writer.ts";
import { readResponsesRequest } from "../../../src/llm/translation/clients/read_responses.ts";
import { Losses } from "../../../src/llm/translation/conversation/losses.ts";
import { awsEventStream, eventStream } from "../../harness/llm/llm_answers.ts";
import {
  type ProviderRequestSeen,
  type ProviderServer,
  startProvider,
} from "../../harness/llm/provider_server.ts";
import {
  anyRules,
  compatibleRules,
  converseRules,
  geminiRules,
  messagesRules,
  openAiRules,
  type RequestRules,
  type SeenRequest,
} from "./provider_rules.ts";

/** A call that the model makes. */
export interface Call {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Returns the next call for a request; `undefined` to answer with a text. */
export type Script = (request: SeenRequest) => Call | undefined;

type Answer = (
  call: Call | undefined,
  request: SeenRequest,
  body: Readonly<Record<string, unknown>>,
) => Response;

export const FINAL_TEXT = "All ten turns are done.";

const usage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
};

function answerChat(
  call: Call | undefined,
  { results, stream }: SeenRequest,
): Response {
  const id = `call_${results}`;
  const message = call === undefined
    ? { role: "assistant", content: FINAL_TEXT }
    : {
      role: "assistant",
      content: null,
      tool_calls: [{
        index: 0,
        id,
        type: "function",
        function: { name: call.name, arguments: JSON.stringify(call.input) },
      }],
    };
  const finish = call === undefined ? "stop" : "tool_calls";
  const head = { id: `c${results}`, model: "m", created: 1 };
  if (!stream) {
    return Response.json({
      ...head,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    });
  }
  const object = "chat.completion.chunk";
  return eventStream([
    { ...head, object, choices: [{ index: 0, delta: message }] },
    {
      ...head,
      object,
      choices: [{ index: 0, delta: {}, finish_reason: finish }],
    },
    { ...head, object, choices: [], usage },
  ]);
}

function answerMessages(
  call: Call | undefined,
  { results, stream }: SeenRequest,
): Response {
  const block = call === undefined
    ? { type: "text", text: FINAL_TEXT }
    : { type: "tool_use", id: `toolu_${results}`, ...call };
  const stop = {
    stop_reason: call === undefined ? "end_turn" : "tool_use",
    stop_sequence: null,
  };
  const counts = { input_tokens: 100, output_tokens: 10 };
  const message = {
    id: `msg_${results}`,
    type: "message",
    role: "assistant",
    model: "claude",
  };
  if (!stream) {
    return Response.json({
      ...message,
      content: [block],
      ...stop,
      usage: counts,
    });
  }
  const start = call === undefined
    ? { type: "text", text: "" }
    : { ...block, input: {} };
  const delta = call === undefined
    ? { type: "text_delta", text: FINAL_TEXT }
    : { type: "input_json_delta", partial_json: JSON.stringify(call.input) };
  return eventStream([
    {
      type: "message_start",
      message: { ...message, content: [], stop_reason: null, usage: counts },
    },
    { type: "content_block_start", index: 0, content_block: start },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: stop, usage: { output_tokens: 10 } },
    { type: "message_stop" },
  ]);
}

function answerGemini(
  call: Call | undefined,
  { results, stream }: SeenRequest,
): Response {
  const part = call === undefined ? { text: FINAL_TEXT } : {
    functionCall: { name: call.name, args: call.input },
    thoughtSignature: btoa(`signature ${results}`),
  };
  const answer = {
    candidates: [{
      content: { role: "model", parts: [part] },
      finishReason: "STOP",
    }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10 },
    modelVersion: "gemini-3-flash",
    responseId: `r${results}`,
  };
  return stream ? eventStream([answer]) : Response.json(answer);
}

function answerConverse(
  call: Call | undefined,
  { results, stream }: SeenRequest,
): Response {
  const counts = { inputTokens: 100, outputTokens: 10, totalTokens: 110 };
  const stopReason = call === undefined ? "end_turn" : "tool_use";
  const use = { toolUseId: `tooluse_${results}`, name: call?.name };
  if (!stream) {
    const block = call === undefined
      ? { text: FINAL_TEXT }
      : { toolUse: { ...use, input: call.input } };
    const message = { role: "assistant", content: [block] };
    return Response.json({ output: { message }, stopReason, usage: counts });
  }
  const delta = call === undefined
    ? { text: FINAL_TEXT }
    : { toolUse: { input: JSON.stringify(call.input) } };
  const contentBlockIndex = 0;
  return awsEventStream([
    ["messageStart", { role: "assistant" }],
    ...(call === undefined ? [] : [
      ["contentBlockStart", {
        contentBlockIndex,
        start: { toolUse: use },
      }] as const,
    ]),
    ["contentBlockDelta", { contentBlockIndex, delta }],
    ["contentBlockStop", { contentBlockIndex }],
    ["messageStop", { stopReason }],
    ["metadata", { usage: counts }],
  ]);
}

function answerResponses(
  call: Call | undefined,
  { results }: SeenRequest,
  body: Readonly<Record<string, unknown>>,
): Response {
  const request = readResponsesRequest(
    { model: "m", stream: body["stream"] },
    new Losses("Drop"),
  );
  const writer = new ResponsesWriter(request, 0, () => {});
  const events = [
    { type: "start", id: `r${results}`, model: "gpt" },
    ...(call === undefined ? [{ type: "text", text: FINAL_TEXT }] as const : [
      { type: "toolCall", id: `call_${results}`, name: call.name },
      { type: "toolInput", json: JSON.stringify(call.input) },
    ] as const),
    {
      type: "usage",
      usage: {
        ...{ input: 100, cachedInput: 0, cacheWrite: 0, output: 10 },
        reasoning: 0,
      },
    },
  ] as const;
  if (body["stream"] !== true) return Response.json(writer.whole(events));
  const text = events.map((event) => writer.event(event)).join("");
  return new Response(text + writer.end(), {
    headers: { "content-type": "text/event-stream" },
  });
}

interface Api {
  readonly path: RegExp;
  readonly rules: RequestRules;
  readonly answer: Answer;
}

const responses: Api = {
  path: /\/responses$/,
  rules: anyRules,
  answer: answerResponses,
};

function messages(path: RegExp): Api {
  return { path, rules: messagesRules, answer: answerMessages };
}

const gemini: Api = {
  path: /:(?:streamG|g)enerateContent/,
  rules: geminiRules,
  answer: answerGemini,
};

/** A provider of the matrix. */
export interface FakeProvider {
  readonly name: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly apis: readonly Api[];
}

/** The providers, with the models that their requests get. */
export const fakeProviders: readonly FakeProvider[] = [
  {
    name: "OpenAI",
    settings: { model: "gpt-5.2" },
    apis: [
      { path: /chat\/completions$/, rules: openAiRules, answer: answerChat },
      responses,
    ],
  },
  {
    name: "Anthropic",
    settings: { model: "claude-sonnet-4-5" },
    apis: [messages(/\/v1\/messages$/)],
  },
  {
    name: "Gemini",
    settings: { model: "gemini-3-flash" },
    apis: [gemini],
  },
  {
    name: "Vertex",
    settings: { model: "gemini-3-flash", project: "p", region: "global" },
    apis: [gemini],
  },
  {
    name: "Bedrock",
    settings: { model: "us.anthropic.claude-sonnet-4-6", region: "us-east-1" },
    apis: [{
      path: /\/converse(?:-stream)?$/,
      rules: converseRules,
      answer: answerConverse,
    }],
  },
  {
    name: "OpenAICompatible",
    settings: { model: "qwen3-coder" },
    apis: [
      {
        path: /chat\/completions$/,
        rules: compatibleRules,
        answer: answerChat,
      },
      responses,
    ],
  },
];

/** A provider that runs, and the requests that it has rejected. */
export interface RunningProvider extends AsyncDisposable {
  readonly host: string;
  readonly rejections: readonly string[];
  /** Most results of calls that a request had. */
  readonly results: number;
}

/** Starts a provider. @param isNative The client's own API: its requests pass as they are, whatever they have. */
export function startFakeProvider(
  { apis }: FakeProvider,
  script: Script,
  isNative: boolean,
): RunningProvider {
  const rejections: string[] = [];
  let results = 0;
  const respond = ({ target, body }: ProviderRequestSeen): Response => {
    const [path = ""] = target.split("?");
    const api = apis.find((each) => each.path.test(path));
    if (api === undefined) {
      rejections.push(`404 ${path}`);
      return Response.json({ error: { message: "not found" } }, {
        status: 404,
      });
    }
    try {
      const parsed = JSON.parse(body);
      const rules = isNative ? anyRules : api.rules;
      const seen = rules(parsed, target);
      results = Math.max(results, seen.results);
      return api.answer(script(seen), seen, parsed);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      rejections.push(message);
      return Response.json({ error: { message } }, { status: 400 });
    }
  };
  const server: ProviderServer = startProvider(respond);
  return {
    host: server.host,
    rejections,
    get results() {
      return results;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
