import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import { parseLlmHost } from "../../api/resources/llm_backend.ts";
import type { McpServerResource } from "../../api/resources/mcp_backend.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { addressOfUrl } from "../../base/wire/host_port.ts";
import { llmProviders } from "../../llm/providers/llm_providers.ts";
import type { Endpoint } from "../../snapshot/backend.ts";

/** A host in the configuration of a backend. */
export interface WrittenHost extends Endpoint {
  /** Path of the host in `spec`. */
  readonly path: DiagnosticPath;
}

/** Lists the hosts of a backend as they are written. */
export function writtenHosts(
  { static: single, endpoints = [], llm, mcp }: GatewayBackend["spec"],
): readonly WrittenHost[] {
  return [
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
