import { importProvider } from "../parts/imported_provider.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** A deployment of a model as a backend. */
export interface DeploymentImport {
  readonly backend?: Readonly<Record<string, unknown>>;
  /** Reasons why it cannot be used. */
  readonly missing: readonly string[];
}

/** Providers by the first part of `litellm_params.model`. */
const providers: ReadonlyMap<string, string> = new Map(Object.entries({
  openai: "openai",
  text_completion_openai: "openai",
  azure: "azure",
  anthropic: "anthropic",
  gemini: "gemini",
  vertex_ai: "vertex",
  bedrock: "bedrock",
  ollama: "ollama",
  ollama_chat: "ollama",
}));

/** Hosts of providers with the API of OpenAI. */
const compatible: ReadonlyMap<string, readonly [string, string]> = new Map(
  Object.entries({
    groq: ["api.groq.com", "/openai/v1"],
    mistral: ["api.mistral.ai", "/v1"],
    deepseek: ["api.deepseek.com", "/v1"],
    together_ai: ["api.together.xyz", "/v1"],
    fireworks_ai: ["api.fireworks.ai", "/inference/v1"],
    openrouter: ["openrouter.ai", "/api/v1"],
    xai: ["api.x.ai", "/v1"],
    perplexity: ["api.perplexity.ai", ""],
  }),
);

/** Imports an entry of `model_list`. @param name Model that clients send. */
export function importDeployment(
  source: SourceNode,
  name: string,
  priority: number,
): DeploymentImport {
  const parameters = source.get("litellm_params");
  const model = parameters?.get("model");
  const text = model?.text();
  if (parameters === undefined || text === undefined) {
    source.reject("litellm_params: expected a model");
    return { missing: ["litellm_params"] };
  }
  const [provider, target] = splitModel(text);
  if (name.includes("*") && name !== "*" && name !== target) {
    source.reject(
      `model_name ${name}: the provider would get the prefix of the name, too; write its models one by one`,
    );
    return { missing: ["model_name"] };
  }
  const own = compatible.get(provider);
  const base = parameters.get("api_base")?.text();
  const url = base === undefined ? undefined : URL.parse(base);
  if (base !== undefined && url === null) {
    parameters.get("api_base")?.reject(
      "api_base: write the host of the backend; a variable has no counterpart",
    );
    return { missing: ["api_base"] };
  }
  const key = parameters.get("api_key")?.text();
  const path = url?.pathname.replace(/\/$/, "");
  const other = base === undefined && !own ? provider : "other";
  const { backend, missing } = importProvider(
    model ?? source,
    providers.get(provider) ?? other,
    {
      host: url?.host ?? own?.[0],
      basePath: path || own?.[1] || undefined,
      plainText: url?.protocol === "http:",
      region: parameters.get("aws_region_name")?.text() ??
        parameters.get("vertex_location")?.text(),
      project: parameters.get("vertex_project")?.text(),
      key: key === undefined ? undefined : fromEnvironment(key),
    },
  );
  if (missing !== undefined) return { missing: [missing] };
  const llm = Object(Reflect.get(Object(backend), "llm"));
  const weight = parameters.get("weight")?.number();
  const aliases = name.includes("*") ? {} : { [name]: target };
  return {
    missing: [],
    backend: {
      llm: {
        ...llm,
        ...name !== target && Object.keys(aliases).length > 0 && { aliases },
      },
      ...typeof weight === "number" && { weight },
      ...priority > 0 && { priority },
    },
  };
}

/** Splits `azure/my-deployment`; a name without a provider is one of OpenAI or Anthropic. */
function splitModel(text: string): readonly [provider: string, model: string] {
  const slash = text.indexOf("/");
  if (slash < 0) {
    return [text.startsWith("claude") ? "anthropic" : "openai", text];
  }
  return [text.slice(0, slash), text.slice(slash + 1)];
}

/** Calendar windows by `budget_duration`. */
const windows: ReadonlyMap<string, string> = new Map(Object.entries({
  "1s": "Seconds",
  "60s": "Minutes",
  "1m": "Minutes",
  "60m": "Hours",
  "1h": "Hours",
  "24h": "Days",
  "1d": "Days",
  "7d": "Weeks",
  "30d": "Months",
  "1mo": "Months",
}));

/** Returns the unit of a window of LiteLLM; `undefined` for one without a counterpart. */
export function windowOf(duration: string | undefined): string | undefined {
  return windows.get(duration ?? "");
}

/** Writes `os.environ/NAME` as `${NAME}`. */
export function fromEnvironment(text: string): string {
  const [, name] = /^os\.environ\/(\w+)$/.exec(text) ?? [];
  return name === undefined ? text : `\${${name}}`;
}
