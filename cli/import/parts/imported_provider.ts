import { importBackendKey } from "./imported_secrets.ts";
import type { SourceNode } from "./source_node.ts";

/** A backend, or what has no counterpart. */
export interface ProviderImport {
  readonly backend?: Readonly<Record<string, unknown>>;
  readonly missing?: string;
}

/** Names of providers by those of the file, in lower case. */
const providerNames: ReadonlyMap<string, string> = new Map(Object.entries({
  openai: "OpenAI",
  anthropic: "Anthropic",
  gemini: "Gemini",
  vertex: "Vertex",
  bedrock: "Bedrock",
  azure: "Azure",
  azureopenai: "Azure",
}));

/** Settings of a provider. */
export interface ProviderSettings {
  readonly model?: string | undefined;
  readonly region?: string | undefined;
  readonly project?: string | undefined;
  /** With a port unless that is 443. */
  readonly host?: string | undefined;
  readonly basePath?: string | undefined;
  readonly key?: string | undefined;
  /** In place of a key. */
  readonly credentials?: object;
  readonly plainText?: boolean;
}

/** Ollama on this machine. */
const ollama = { host: "localhost:11434", basePath: "/v1", plainText: true };

/** Imports an LLM provider. */
export function importProvider(
  source: SourceNode,
  name: string,
  { key, plainText, ...settings }: ProviderSettings,
): ProviderImport {
  const known = providerNames.get(name.toLowerCase());
  if (name.toLowerCase() === "ollama" && settings.host === undefined) {
    const { model } = settings;
    return importProvider(source, name, { ...ollama, key, model });
  }
  if (known === undefined && settings.host === undefined) {
    source.reject(
      `provider ${name}: no counterpart; write OpenAICompatible with its host`,
    );
    return { missing: "ai" };
  }
  const llm = {
    provider: known ?? "OpenAICompatible",
    ...settings,
    ...(plainText === true && { plainText }),
    ...(key !== undefined &&
      { credentials: importBackendKey(key, name, source) }),
  };
  return { backend: { llm } };
}
