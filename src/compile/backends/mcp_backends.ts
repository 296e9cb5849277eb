import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import {
  isReservedHeader,
  type McpBackend,
  type McpServerResource,
} from "../../api/resources/mcp_backend.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import { addressOfUrl } from "../../base/wire/host_port.ts";
import type { UpstreamTls } from "../../http/client/upstream.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type { Backend, McpTargetServer } from "../../snapshot/snapshot.ts";
import { namespacedName } from "../resolve/references.ts";
import { loadCa } from "./backend_ca.ts";
import type { BackendContext } from "./backend_context.ts";
import { readKey } from "./backend_credentials.ts";
import { loopbackPortsOf } from "./backend_egress.ts";

const DEFAULT_CONNECT = "3s";
const DEFAULT_LIST = "3s";
const DEFAULT_CALL = "5m";
const UNLIMITED_MS = 2 ** 31 - 1;

/** Compiles the servers of an endpoint; reports those that cannot be used, and returns `undefined` then. */
export function compileMcp(
  resource: GatewayBackend,
  { servers, prefix = "Auto" }: McpBackend,
  context: BackendContext,
): Pick<Backend, "host" | "port" | "tls" | "mcp"> | undefined {
  const isPrefixed = prefix === "Always" ||
    prefix === "Auto" && servers.length > 1;
  const compiled = servers.map((server, index) => {
    const path = ["spec", "mcp", "servers", index];
    const defaultPrefix = isPrefixed ? server.name : "";
    return new ServerCompiler(resource, server, path, context)
      .compile(defaultPrefix);
  });
  const [first] = compiled;
  const usable = compiled.filter((server) => server !== undefined);
  if (first === undefined || usable.length < compiled.length) return undefined;
  const { host, port } = first.transport.backend;
  return { host, port, tls: undefined, mcp: { servers: usable } };
}

class ServerCompiler {
  readonly #resource: GatewayBackend;
  readonly #server: McpServerResource;
  readonly #path: DiagnosticPath;
  readonly #context: BackendContext;

  constructor(
    resource: GatewayBackend,
    server: McpServerResource,
    path: DiagnosticPath,
    context: BackendContext,
  ) {
    this.#resource = resource;
    this.#server = server;
    this.#path = path;
    this.#context = context;
  }

  compile(defaultPrefix: string): McpTargetServer | undefined {
    const { name, url, timeouts, tools, descriptions = {}, prefix } =
      this.#server;
    const { host, pathname, search, protocol, username } = new URL(url);
    const headers = this.#headers();
    const tls = this.#tls(protocol === "https:");
    if (username !== "") {
      this.#reject(
        ["url"],
        'a URL cannot have credentials; use "credentials" or "headers"',
      );
      return undefined;
    }
    if (headers === undefined || tls === "invalid") return undefined;
    const address = addressOfUrl(url);
    const loopbackPorts = loopbackPortsOf([address], this.#context.inputs);
    const connectMs = parseDuration(timeouts?.connect ?? DEFAULT_CONNECT);
    const key = namespacedName(this.#resource);
    return {
      settings: {
        name,
        prefix: prefix ?? defaultPrefix,
        tools,
        descriptions: new Map(Object.entries(descriptions)),
        timeouts: {
          connectMs,
          listMs: parseDuration(timeouts?.list ?? DEFAULT_LIST),
          callMs: parseDuration(timeouts?.call ?? DEFAULT_CALL) ||
            UNLIMITED_MS,
        },
      },
      address: host,
      transport: {
        kind: "http",
        address: { authority: host, path: pathname + search, headers },
        backend: {
          ...address,
          ...(loopbackPorts.length > 0 && { loopbackPorts }),
          key: `${key}#${name}`,
          name: `${this.#resource.metadata.name}#${name}`,
          protocol: "auto",
          tls,
          connectTimeoutMs: connectMs,
        },
      },
    };
  }

  #headers(): readonly (readonly [string, string])[] | undefined {
    const { headers = {}, credentials } = this.#server;
    const entries = Object.entries(headers);
    for (const [name, value] of entries) {
      if (isReservedHeader(name.toLowerCase()) || !isFieldValue(value)) {
        const problem = isFieldValue(value)
          ? `the gateway writes "${name}" itself`
          : "a header value cannot contain line breaks or control characters";
        this.#reject(["headers", name], problem);
        return undefined;
      }
    }
    if (credentials === undefined) return entries;
    try {
      const key = readKey(this.#resource, credentials, this.#context);
      if (!isFieldValue(key)) {
        throw new TypeError("it has line breaks or control characters");
      }
      return [...entries, ["authorization", `Bearer ${key}`]];
    } catch (error) {
      const [field = ""] = Object.keys(credentials);
      const problem = `Cannot use the credentials: ${describeError(error)}`;
      this.#reject(["credentials", field], problem);
      return undefined;
    }
  }

  #tls(isHttps: boolean): UpstreamTls | "invalid" | undefined {
    const { tls, url } = this.#server;
    if (!isHttps) {
      if (tls === undefined) return undefined;
      this.#reject(["tls"], '"tls" needs an "https" URL');
      return "invalid";
    }
    try {
      return {
        hostname: tls?.hostname ?? addressOfUrl(url).host,
        subjectAltNames: [],
        caCertificates: tls?.caCertificateRefs?.map((reference) =>
          loadCa(reference, this.#resource, this.#context)
        ),
      };
    } catch (error) {
      const problem = `Cannot use CA certificate: ${describeError(error)}`;
      this.#reject(["tls", "caCertificateRefs"], problem);
      return "invalid";
    }
  }

  #reject(field: DiagnosticPath, message: string): void {
    const path = [...this.#path, ...field];
    this.#context.report.error(this.#resource, { path, message });
  }
}
