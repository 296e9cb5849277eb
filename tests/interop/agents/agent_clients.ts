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
  /** Field with which it sends its key; `authorization` unless set. */
  readonly keyHeader?: string;
  /** Returns the call of a turn with one of the client's tools; `undefined` if it has none of them. */
  call(request: SeenRequest): Call | undefined;
  command(origin: string, home: string): {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    /** Text of a file with settings, and its path in the home directory. */
    readonly settings?: readonly [path: string, text: string];
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

const geminiCli: AgentClient = {
  name: "Gemini CLI",
  native: ["Gemini", "Vertex"],
  keyHeader: "x-goog-api-key",
  call(request) {
    const name = toolOf(request, "run_shell_command");
    if (name === undefined) return undefined;
    return { name, input: { command: echo(request), description: "A turn" } };
  },
  command: (origin, home) => ({
    args: [
      `${installed}/node_modules/.bin/gemini`,
      ...["-p", prompt, "-m", "gemini-3-flash", "--yolo", "--skip-trust"],
    ],
    env: {
      GOOGLE_GEMINI_BASE_URL: origin,
      GEMINI_API_KEY: "client-key",
      GEMINI_CLI_HOME: home,
      GEMINI_TELEMETRY_ENABLED: "false",
    },
    settings: [
      ".gemini/settings.json",
      JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
      }),
    ],
  }),
};

const python = `${installed}/python/bin/python`;
const agents = pathOf("agents.py");

/** Providers that have an API. */
const natives = {
  chat: ["OpenAI", "OpenAICompatible"],
  responses: ["OpenAI", "OpenAICompatible"],
  messages: ["Anthropic"],
  gemini: ["Gemini", "Vertex"],
} as const;
const apis = ["chat", "responses", "messages", "gemini"] as const;
const apiNames = {
  chat: "chat",
  responses: "responses",
  messages: "messages",
  gemini: "Gemini",
} as const;

/** A client with the APIs of several providers. */
function withApis(
  name: string,
  command: (api: string) => readonly string[],
): readonly AgentClient[] {
  return apis.map((api) =>
    script(`${name}, ${apiNames[api]}`, command(api), natives[api])
  );
}

function pathOf(file: string): string {
  return new URL(`programs/${file}`, import.meta.url).pathname;
}

function script(
  name: string,
  args: readonly string[],
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
      args,
      env: { GATEWAY: origin, AGENT_CLIENTS: installed },
    }),
  };
}

/** The clients of the matrix. */
export const agentClients: readonly AgentClient[] = [
  claudeCode,
  codex,
  geminiCli,
  ...withApis("Vercel AI SDK", (api) => ["node", pathOf(`ai_${api}.mjs`)]),
  ...withApis("Official SDK", (api) => [
    "node",
    pathOf("official_sdk.mjs"),
    api,
  ]),
  ...withApis("pydantic-ai", (api) => [python, agents, "pydantic-ai", api]),
  ...withApis("LangChain", (api) => [python, agents, "langchain", api]),
];
