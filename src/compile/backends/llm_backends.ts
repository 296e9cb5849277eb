import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
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
import type { Backend } from "../../snapshot/snapshot.ts";
import type { BackendContext } from "./backend_context.ts";
import { readKey } from "./backend_credentials.ts";

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** Address and settings of an LLM provider. */
type CompiledLlm = Pick<Backend, "host" | "port" | "tls"> & {
  readonly llm: LlmTarget;
};

/**
 * Compiles the provider of a backend; reports why it cannot be used, and returns `undefined` then.
 * @param tls Settings of the backend's TLS policy.
 */
export function compileLlm(
  resource: GatewayBackend,
  llm: LlmBackend,
  tls: Backend["tls"],
  context: BackendContext,
): CompiledLlm | undefined {
  const provider = llmProviders[llm.provider];
  const { basePath, region, project, plainText = false } = llm;
  const path = ["spec", "llm"];
  const missing = provider.requires.filter((name) => llm[name] === undefined);
  for (const name of missing) {
    const message = `Provider "${llm.provider}" requires "${name}"`;
    context.report.error(resource, { path, message });
  }
  const place: ProviderPlace = { basePath, region, project };
  const authorization = readAuthorization(resource, llm, place, context);
  const address = parseLlmHost(llm.host ?? "");
  const host = address?.host ?? provider.host?.(place);
  if (
    missing.length > 0 || host === undefined || authorization === "invalid"
  ) return undefined;
  const usual = plainText ? HTTP_PORT : HTTPS_PORT;
  const port = address?.port ?? usual;
  return {
    host,
    port,
    tls: plainText ? undefined : tls ?? {
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
    },
  };
}

function readAuthorization(
  resource: GatewayBackend,
  { provider, credentials }: LlmBackend,
  place: ProviderPlace,
  context: BackendContext,
): Authorization | "invalid" | undefined {
  if (credentials === undefined) return undefined;
  const reject = (field: string, problem: string) => {
    const path: DiagnosticPath = ["spec", "llm", "credentials", field];
    const message = `Cannot use the credentials: ${problem}`;
    context.report.error(resource, { path, message });
    return "invalid" as const;
  };
  const field = Object.keys(credentials)[0] ?? "";
  try {
    const key = readKey(resource, credentials, context);
    return llmProviders[provider].authorization(key, place);
  } catch (error) {
    return reject(field, describeError(error));
  }
}
