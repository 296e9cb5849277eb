import {
  type LlmBackend,
  parseLlmHost,
} from "../../api/resources/llm_backend.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import { formatHostPort } from "../../base/wire/host_port.ts";
import { BodyChanges } from "../../llm/body_changes.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type {
  Authorization,
  ProviderPlace,
} from "../../llm/providers/llm_provider.ts";
import { llmProviders } from "../../llm/providers/llm_providers.ts";
import { tokenKinds } from "../../api/resources/credentials/credentials_schema.ts";
import type { BackendCredentials } from "../../identity/backend_tokens/backend_credentials.ts";
import type { Backend } from "../../snapshot/backend.ts";
import { compileCredentials } from "./compile_credentials.ts";
import {
  type BackendCompilation,
  UnusableCredentials,
} from "./backend_compilation.ts";

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** A key in the form of the provider, or tokens. */
interface LlmCredentials {
  readonly authorization?: Authorization;
  readonly tokens?: BackendCredentials;
}

/** Address and settings of an LLM provider. */
type CompiledLlm = Pick<Backend, "host" | "port" | "tls" | "credentials"> & {
  readonly llm: LlmTarget;
};

/** Compiles the provider of a backend; reports why it cannot be used, and returns `undefined` then. */
export function compileLlm(
  compilation: BackendCompilation,
  llm: LlmBackend,
): CompiledLlm | undefined {
  const provider = llmProviders[llm.provider];
  const { basePath, region, project, plainText = false } = llm;
  const path = ["spec", "llm"];
  const missing = provider.requires.filter((name) => llm[name] === undefined);
  for (const name of missing) {
    const message = `Provider "${llm.provider}" requires "${name}"`;
    compilation.error({ path, message });
  }
  const hasResponses = provider.translatesTo(undefined) === "openai";
  if (llm.api === "Responses" && !hasResponses) {
    const message = `Provider "${llm.provider}" has no API of responses`;
    compilation.error({ path: [...path, "api"], message });
  }
  const place: ProviderPlace = { basePath, region, project };
  const credentials = readCredentials(compilation, llm, place);
  const address = parseLlmHost(llm.host ?? "");
  const host = address?.host ?? provider.host?.(place);
  if (
    missing.length > 0 || host === undefined || credentials === "invalid"
  ) return undefined;
  const { authorization, tokens } = credentials;
  const usual = plainText ? HTTP_PORT : HTTPS_PORT;
  const port = address?.port ?? usual;
  return {
    host,
    port,
    ...(tokens && { credentials: tokens }),
    tls: plainText ? undefined : compilation.tls ?? {
      hostname: host.toLowerCase(),
      subjectAltNames: [],
      caCertificates: undefined,
    },
    llm: {
      name: llm.provider,
      provider,
      place,
      scheme: plainText ? "http" : "https",
      authority: port === usual ? host : formatHostPort(host, port),
      authorization,
      model: llm.model,
      aliases: new Map(Object.entries(llm.aliases ?? {})),
      changes: new BodyChanges(llm.defaults, llm.overrides),
      unsupported: llm.unsupported ?? "Drop",
      speaksResponses: llm.api === "Responses",
      marksCaches: llm.promptCaching === "Auto",
    },
  };
}

function readCredentials(
  compilation: BackendCompilation,
  { provider, credentials }: LlmBackend,
  place: ProviderPlace,
): LlmCredentials | "invalid" {
  if (credentials === undefined) return {};
  const reject = (field: DiagnosticPath, problem: string) => {
    const path = ["spec", "llm", "credentials", ...field];
    const message = `Cannot use the credentials: ${problem}`;
    compilation.error({ path, message });
    return "invalid" as const;
  };
  const [field = ""] = Object.keys(credentials);
  const isKey = !tokenKinds.some((kind) => kind === field);
  try {
    if (isKey) {
      const key = compilation.readSecret([], "key", credentials);
      return {
        authorization: llmProviders[provider].authorization(key, place),
      };
    }
    const signature = {
      region: place.region,
      ...(provider === "Bedrock" && { service: "bedrock" }),
    };
    return { tokens: compileCredentials(compilation, credentials, signature) };
  } catch (error) {
    return error instanceof UnusableCredentials
      ? reject(error.path, error.message)
      : reject([field], describeError(error));
  }
}
