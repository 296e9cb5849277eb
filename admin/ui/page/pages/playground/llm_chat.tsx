/** A conversation with a model behind the gateway. */
import { Code, Stats } from "../../kit/data.tsx";
import { dollars, latency, number } from "../../kit/format.ts";
import { useId, useRef, useState } from "../../kit/framework.ts";
import { Button, Field, Form } from "../../kit/inputs.tsx";
import { Empty, Problem } from "../../kit/layout.tsx";
import { messageOf } from "../../server/api.ts";
import type { TraceEvent } from "../traces/trace_events.ts";
import {
  chat,
  type ChatMessage,
  type ChatProgress,
  type ToolCall,
} from "./chat_stream.ts";
import { ExchangeList, type ExchangeLog } from "./exchange_list.tsx";
import type { McpConnection } from "./mcp_tools.tsx";
import { TargetForm, type TargetState } from "./target_form.tsx";

interface LlmChatProps {
  readonly state: TargetState;
  readonly ports: readonly number[];
  readonly log: ExchangeLog;
  /** Its tools are offered to the model. */
  readonly connection: McpConnection | undefined;
}

/** The tab for models. */
export function LlmChat({ state, ports, log, connection }: LlmChatProps) {
  const [model, setModel] = useState("");
  const models = state.targets.find(({ url }) => url === state.target.url)
    ?.models ?? [];
  const listId = useId();
  const talk = useConversation({ state, model, log, connection });
  const { messages, progress, isBusy } = talk;
  return (
    <>
      <TargetForm
        label="Endpoint"
        state={state}
        ports={ports}
        onSubmit={() => {}}
      >
        <Field label="Model">
          <input
            value={model}
            required
            list={listId}
            placeholder={models[0] ?? "gpt-5-mini"}
            spellcheck={false}
            onInput={({ currentTarget }) => setModel(currentTarget.value)}
          />
          <datalist id={listId}>
            {models.map((name) => <option key={name} value={name} />)}
          </datalist>
        </Field>
      </TargetForm>
      <section class="panel" aria-label="Conversation">
        {messages.length === 0
          ? <NoMessages />
          : (
            <ol class="talk" aria-live="polite">
              {messages.map((message, index) => (
                <Message key={index} message={message} />
              ))}
              {isBusy && progress && <Message message={progress.message} />}
            </ol>
          )}
        <Problem>{talk.problem}</Problem>
        <Composer talk={talk} />
        <p class="quiet">
          {connection === undefined
            ? "Connect to an MCP server in the other tab, and its tools are offered to the model."
            : `The model may call ${connection.tools.length} tools of ${connection.server}.`}
        </p>
      </section>
      {progress && (
        <Figures
          progress={progress}
          events={log.list.find(({ title }) => title === "chat")?.events ?? []}
        />
      )}
      <ExchangeList list={log.list} />
    </>
  );
}

function NoMessages() {
  return (
    <Empty title="Talk to a model through the gateway">
      The request has the form of OpenAI's chat completions. Tokens and cost are
      those that the gateway counts.
    </Empty>
  );
}

function Composer({ talk }: { readonly talk: Conversation }) {
  return (
    <Form label="Message" onSubmit={talk.send}>
      <Field label="Message" isWide>
        <textarea
          rows={2}
          required
          value={talk.draft}
          onInput={({ currentTarget }) => talk.setDraft(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
        />
      </Field>
      <Button isMain isDisabled={talk.isBusy}>Send</Button>
      <Button
        isDisabled={talk.isBusy || talk.messages.length === 0}
        onPress={talk.clear}
      >
        Clear
      </Button>
    </Form>
  );
}

type Conversation = ReturnType<typeof useConversation>;

/** Keeps a conversation; tools that the model calls are called, and their results sent, until it needs none. */
function useConversation(
  { state, model, log, connection }: Omit<LlmChatProps, "ports"> & {
    readonly model: string;
  },
) {
  const [draft, setDraft] = useState("");
  const [messages, setMessages] = useState<readonly ChatMessage[]>([]);
  const [progress, setProgress] = useState<ChatProgress | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const rounds = useRef(0);

  const ask = async (asked: readonly ChatMessage[]): Promise<void> => {
    setMessages(asked);
    setProgress(undefined);
    let latest: ChatProgress | undefined;
    const tools = connection?.tools ?? [];
    const request = { ...state, model, messages: asked, tools };
    for await (latest of chat(request, log.exchanges)) setProgress(latest);
    if (latest === undefined) return;
    const answered = [...asked, latest.message];
    setMessages(answered);
    const calls = latest.message.tool_calls ?? [];
    if (calls.length === 0 || connection === undefined) return;
    if (++rounds.current > MAX_ROUNDS) {
      throw new Error(`the model called tools more than ${MAX_ROUNDS} times`);
    }
    const results = await Promise.all(
      calls.map((call) => resultOf(call, connection)),
    );
    await ask([...answered, ...results]);
  };
  const send = async () => {
    if (model.trim() === "") {
      return setProblem("The model is empty: enter its name.");
    }
    setProblem("");
    setBusy(true);
    setDraft("");
    rounds.current = 0;
    await ask([...messages, { role: "user", content: draft }]).catch(
      (error: unknown) => log.leaving.aborted || setProblem(messageOf(error)),
    );
    setBusy(false);
  };
  return {
    draft,
    setDraft,
    messages,
    progress,
    problem,
    isBusy,
    send: () => void send(),
    clear: () => {
      setMessages([]);
      setProgress(undefined);
      setProblem("");
    },
  };
}

const MAX_ROUNDS = 8;

async function resultOf(
  { id, function: { name, arguments: given } }: ToolCall,
  { client }: McpConnection,
): Promise<ChatMessage> {
  const content = await client.callTool(name, JSON.parse(given || "{}")).then(
    (result) => JSON.stringify(result),
    (error: unknown) => `error: ${messageOf(error)}`,
  );
  return { role: "tool", content, tool_call_id: id };
}

const names = { user: "You", assistant: "Model", tool: "Tool" };

function Message({ message }: { readonly message: ChatMessage }) {
  const { role, content, tool_calls: calls = [] } = message;
  return (
    <li class={`talk-${role}`}>
      <span class="talk-name">{names[role]}</span>
      {role === "tool"
        ? <Code value={content} label="Result of the tool" />
        : <p class="talk-text">{content}</p>}
      {calls.map((call) => (
        <Code
          key={call.id}
          label={`Call of ${call.function.name}`}
          value={`${call.function.name}(${call.function.arguments})`}
        />
      ))}
    </li>
  );
}

interface FiguresProps {
  readonly progress: ChatProgress;
  /** Those of the latest request. */
  readonly events: readonly TraceEvent[];
}

function Figures({ progress: { usage, firstAfter }, events }: FiguresProps) {
  const counted = events.map(({ message }) => message)
    .find((message) => message.type === "llmUsage");
  return (
    <Stats
      figures={[
        ["Input tokens", number(counted?.inputTokens ?? usage?.prompt_tokens)],
        [
          "Output tokens",
          number(counted?.outputTokens ?? usage?.completion_tokens),
        ],
        [
          "Cost",
          dollars(counted?.costUsd),
          counted && counted.costUsd === undefined
            ? "the model has no price"
            : undefined,
        ],
        ["First token", latency(firstAfter)],
      ]}
    />
  );
}
