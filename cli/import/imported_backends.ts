import { importBackendKey } from "./imported_access.ts";
import { rejectRestrictions } from "./imported_policies.ts";
import { type ImportedTls, importMcpTargets } from "./imported_targets.ts";
import type { SourceNode } from "./source_node.ts";

/** Backends of a route. */
export interface BackendImport {
  readonly backends: readonly unknown[];
  /** Reason why a backend has no counterpart. */
  readonly missing: readonly string[];
}

/** Context of a backend. */
export interface BackendContext {
  /** Backends that routes refer to by name. */
  readonly named: ReadonlyMap<string, SourceNode>;
  /** Policies of the route, some of which are about its backends. */
  readonly policies: SourceNode | undefined;
}

/** Imports the backends of a route. */
export function importBackends(
  source: SourceNode | undefined,
  context: BackendContext,
): BackendImport {
  const all = (source?.items() ?? []).map((item) => {
    const weight = item.get("weight")?.number();
    const name = item.get("backend")?.text();
    const found = name === undefined ? item : context.named.get(name) ?? item;
    const places = [item, found, found.get("ai"), found.get("mcp")];
    const restrictions = [...new Set(places)]
      .flatMap((each) => rejectRestrictions(each?.get("policies")));
    return { weight, restrictions, ...importBackend(found, context) };
  });
  return {
    backends: all.flatMap(({ backend, weight }) =>
      backend === undefined
        ? []
        : [{ ...backend, ...(weight !== undefined && { weight }) }]
    ),
    missing: all.flatMap(({ missing, restrictions }) => [
      ...restrictions,
      ...(missing === undefined ? [] : [missing]),
    ]),
  };
}

interface OneBackend {
  readonly backend?: Readonly<Record<string, unknown>>;
  readonly missing?: string;
}

function importBackend(
  source: SourceNode,
  context: BackendContext,
): OneBackend {
  const tls = importTls(source, context);
  const host = source.get("host")?.text();
  if (host !== undefined) return { backend: { host, ...(tls && { tls }) } };
  const mcp = source.get("mcp");
  if (mcp !== undefined) return importMcpTargets(mcp, tls);
  const ai = source.get("ai");
  if (ai !== undefined) return importAi(ai, source, context);
  source.reject("backend: only host, mcp and ai have counterparts");
  return { missing: "backend" };
}

function importTls(
  source: SourceNode,
  { policies }: BackendContext,
): ImportedTls {
  const found = source.get("policies")?.get("backendTLS") ??
    policies?.get("backendTLS");
  if (found === undefined) return undefined;
  const file = found.get("root")?.text();
  return {
    hostname: found.get("hostname")?.text(),
    ...(file !== undefined && { caCertificateRefs: [{ file }] }),
  };
}

function importAi(
  ai: SourceNode,
  source: SourceNode,
  { policies }: BackendContext,
): OneBackend {
  ai.get("name");
  const [entry, second] = ai.get("provider")?.members() ?? [];
  if (entry === undefined || second !== undefined) {
    ai.reject("ai: expected one provider; write several backends");
    return { missing: "ai" };
  }
  const [name, settings] = entry;
  const auth = ai.get("policies")?.get("backendAuth") ??
    source.get("policies")?.get("backendAuth") ?? policies?.get("backendAuth");
  const override = ai.get("hostOverride")?.text();
  const isTls = [source.get("policies"), policies].some((each) =>
    each?.has("backendTLS")
  );
  return importProvider(ai, name, {
    model: settings.get("model")?.text(),
    region: settings.get("region")?.text(),
    project: settings.get("projectId")?.text(),
    host: override ?? settings.get("host")?.text(),
    key: auth?.get("key")?.text(),
    plainText: override !== undefined && !isTls,
  });
}

/** Names of providers by those of the file, in lower case. */
const providerNames: Readonly<Record<string, string>> = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  gemini: "Gemini",
  vertex: "Vertex",
  bedrock: "Bedrock",
  azure: "Azure",
  azureopenai: "Azure",
};

/** Settings of a provider. */
export interface ProviderSettings {
  readonly model?: string | undefined;
  readonly region?: string | undefined;
  readonly project?: string | undefined;
  /** With a port unless that is 443. */
  readonly host?: string | undefined;
  readonly basePath?: string | undefined;
  readonly key?: string | undefined;
  readonly plainText?: boolean;
}

/** Ollama on this machine. */
const ollama = { host: "localhost:11434", basePath: "/v1", plainText: true };

/** Imports an LLM provider. */
export function importProvider(
  source: SourceNode,
  name: string,
  { key, plainText, ...settings }: ProviderSettings,
): OneBackend {
  const known = providerNames[name.toLowerCase()];
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
