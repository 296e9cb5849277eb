/** Agents that people use, run as programs, each with a conversation of ten calls. */
import type { Call } from "./fake_providers.ts";
import type { SeenRequest } from "./provider_rules.ts";

/** Calls of the conversation. */
export const TURNS = 10;

/** A program of a client. */
export interface AgentClient {
  readonly name: string;
  /** Providers that have its API: its requests pass as they are. */
  readonly native: readonly string[];
  /** Returns the call of a turn with one of the client's tools; `undefined` if it has none of them. */
  call(request: SeenRequest): Call | undefined;
  command(origin: string, home: string): {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
}

/** Folder with `node_modules`. */
const installed = Deno.env.get("AGENT_CLIENTS") ?? "";
const prompt = "Run the commands that you need, one after the other.";

function echo({ results }: SeenRequest): string {
  return `echo turn ${results + 1}`;
}

function toolOf(
  { tools }: SeenRequest,
  ...names: readonly string[]
): string | undefined {
  return names.find((name) => tools.includes(name));
}

const claudeCode: AgentClient = {
  name: "Claude Code",
  native: ["Anthropic"],
  call(request) {
    const name = toolOf(request, "Bash");
    if (name === undefined) return undefined;
    const input = { command: echo(request), description: "Says the turn" };
    return { name, input };
  },
  command: (origin, home) => ({
    args: [
      `${installed}/node_modules/.bin/claude`,
      ...["-p", prompt, "--model", "claude-sonnet-4-5"],
      ...["--allowedTools", "Bash(echo:*)", "--output-format", "text"],
    ],
    env: {
      ANTHROPIC_BASE_URL: origin,
      ANTHROPIC_AUTH_TOKEN: "client-key",
      CLAUDE_CONFIG_DIR: `${home}/claude`,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
    },
  }),
};

const codex: AgentClient = {
  name: "Codex CLI",
  native: ["OpenAI", "OpenAICompatible"],
  call(request) {
    const shell = toolOf(request, "exec_command");
    if (shell !== undefined) {
      return { name: shell, input: { cmd: echo(request) } };
    }
    const name = toolOf(request, "shell", "shell_command");
    if (name === undefined) return undefined;
    const command = echo(request);
    return {
      name,
      input: { command: name === "shell" ? command.split(" ") : command },
    };
  },
  command: (origin, home) => {
    const settings = [
      "model_provider='gw'",
      "model_providers.gw.name='gw'",
      `model_providers.gw.base_url='${origin}/v1'`,
      "model_providers.gw.env_key='GATEWAY_KEY'",
      "model_providers.gw.wire_api='responses'",
    ].flatMap((setting) => ["-c", setting]);
    return {
      args: [
        `${installed}/node_modules/.bin/codex`,
        ...["exec", "--skip-git-repo-check", "-m", "gpt-5.2"],
        ...["-s", "danger-full-access"],
        ...settings,
        prompt,
      ],
      env: { GATEWAY_KEY: "client-key", CODEX_HOME: home },
    };
  },
};

function script(
  name: string,
  file: string,
  native: readonly string[],
): AgentClient {
  return {
    name,
    native,
    call(request) {
      const tool = toolOf(request, "get_weather");
      return tool === undefined
        ? undefined
        : { name: tool, input: { city: `City ${request.results + 1}` } };
    },
    command: (origin) => ({
      args: ["node", new URL(file, import.meta.url).pathname],
      env: { GATEWAY: origin, AGENT_CLIENTS: installed },
    }),
  };
}

/** The clients of the matrix. */
export const agentClients: readonly AgentClient[] = [
  claudeCode,
  codex,
  script("Vercel AI SDK, responses", "programs/ai_responses.mjs", [
    "OpenAI",
    "OpenAICompatible",
  ]),
  script("Vercel AI SDK, chat", "programs/ai_chat.mjs", [
    "OpenAI",
    "OpenAICompatible",
  ]),
  script("Vercel AI SDK, messages", "programs/ai_messages.mjs", ["Anthropic"]),
  script("Vercel AI SDK, Gemini", "programs/ai_gemini.mjs", [
    "Gemini",
    "Vertex",
  ]),
];
