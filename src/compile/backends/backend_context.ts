import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { parseLlmHost } from "../../api/resources/llm_backend.ts";
import type { McpServerResource } from "../../api/resources/mcp_backend.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { llmProviders } from "../../llm/providers/llm_providers.ts";
import { addressOfUrl } from "../../base/wire/host_port.ts";
import type { BackendTlsPolicy } from "../../api/resources/backend_tls_policy.ts";
import type { Backend, Endpoint } from "../../snapshot/backend.ts";
import type { ResultTable } from "../memory/compile_memory.ts";
import type { Report } from "../memory/report.ts";
import type { Inputs, References } from "../resolve/references.ts";

/** A backend that exists and cannot be used. */
export interface InvalidBackend {
  /** Reason if its host is denied. */
  readonly denial: string | undefined;
}

/** Dependencies of compiling backends. */
export interface BackendContext {
  readonly references: References;
  readonly inputs: Inputs;
  readonly report: Report;
  readonly backendMemory: ResultTable<string, Backend | InvalidBackend>;
  readonly tlsMemory: ResultTable<BackendTlsPolicy, Backend["tls"]>;
}

/** A host of a backend that the gateway does not connect to. */
interface DeniedHost {
  readonly host: string;
  readonly path: DiagnosticPath;
  readonly denial: string;
}

/** Returns the first host of a backend that is denied as it is written; the addresses of names are checked when they are connected to. */
export function findDeniedHost(
  { spec }: GatewayBackend,
  inputs: Inputs,
): DeniedHost | undefined {
  const { static: single, endpoints = [], llm, mcp } = spec;
  const written = [
    ...(single === undefined ? [] : [{ ...single, path: ["static", "host"] }]),
    ...endpoints.map((each, index) => ({
      ...each,
      path: ["endpoints", index, "host"],
    })),
    ...(llm === undefined ? [] : llmHosts(llm)),
    ...(mcp?.servers ?? []).flatMap((server, index) =>
      urlsOf(server).map(({ url, path }) => ({
        ...addressOfUrl(url),
        path: ["mcp", "servers", index, ...path],
      }))
    ),
  ];
  const loopbackPorts = loopbackPortsOf(written, inputs);
  for (const { host, port, path } of written) {
    const denial = inputs.read(({ egress }) =>
      egress.denialOf({ host, port, loopbackPorts })
    );
    if (denial !== undefined) return { host, path: ["spec", ...path], denial };
  }
  return undefined;
}

/** Returns the URLs of an MCP server. */
function urlsOf({ url, sse, openapi }: McpServerResource) {
  return [
    { url, path: ["url"] },
    { url: sse, path: ["sse"] },
    { url: openapi?.baseUrl, path: ["openapi", "baseUrl"] },
    { url: openapi?.url, path: ["openapi", "url"] },
  ].flatMap(({ url, path }) => url === undefined ? [] : [{ url, path }]);
}

/** Returns the ports of a backend that it may have on the loopback interface. */
export function loopbackPortsOf(
  hosts: readonly Endpoint[] | undefined,
  inputs: Inputs,
): readonly number[] {
  const ports = new Set(hosts?.map(({ port }) => port));
  return [...ports].filter((port) =>
    inputs.read(({ loopbackPorts }) => loopbackPorts.has(port))
  );
}

/** The port does not matter: that of an LLM provider is open on the loopback interface only if it is written. */
function llmHosts(llm: NonNullable<GatewayBackend["spec"]["llm"]>) {
  const { basePath, region, project } = llm;
  const address = parseLlmHost(llm.host ?? "");
  const host = address?.host ??
    llmProviders[llm.provider].host?.({ basePath, region, project });
  return host === undefined
    ? []
    : [{ host, port: address?.port ?? 0, path: ["llm", "host"] }];
}
