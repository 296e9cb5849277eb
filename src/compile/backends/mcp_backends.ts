import type { GatewayBackend } from "../../api/resources/gateway_backend.ts";
import {
  isReservedHeader,
  type McpBackend,
  type McpServerResource,
  type OpenApiResource,
} from "../../api/resources/mcp_backend.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import { describeReadError } from "../../base/regular_file.ts";
import { addressOfUrl } from "../../base/wire/host_port.ts";
import type { UpstreamTls } from "../../http/client/upstream.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type { BackendCredentials } from "../../identity/backend_tokens/backend_credentials.ts";
import type {
  Backend,
  McpDocument,
  McpTargetServer,
  McpTransport,
} from "../../snapshot/snapshot.ts";
import { namespacedName, readFileOf } from "../resolve/references.ts";
import { loadCa } from "./backend_ca.ts";
import type { BackendContext } from "./backend_context.ts";
import {
  compileCredentials,
  UnusableCredentials,
} from "./compile_credentials.ts";
import { loopbackPortsOf } from "./backend_egress.ts";

const DEFAULT_CONNECT = "3s";
const DEFAULT_LIST = "3s";
const DEFAULT_CALL = "5m";
const UNLIMITED_MS = 2 ** 31 - 1;

type Headers = readonly (readonly [name: string, value: string])[];

/** Compiles the servers of an endpoint; reports those that cannot be used, and returns `undefined` then. */
export function compileMcp(
  resource: GatewayBackend,
  { servers, prefix = "Auto", discovery, pinned = [] }: McpBackend,
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
  return {
    host,
    port,
    tls: undefined,
    mcp: {
      servers: usable,
      ...(discovery === "Search" && { discovery: { pinned } }),
    },
  };
}

/** Returns the backends that requests to a server go to. */
export function backendsOf(transport: McpTransport): readonly Backend[] {
  const { backend } = transport;
  return transport.kind === "openapi" && "backend" in transport.document
    ? [backend, transport.document.backend]
    : [backend];
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
    const { name, timeouts, tools, descriptions = {}, prefix } = this.#server;
    const settings = {
      name,
      prefix: prefix ?? defaultPrefix,
      tools,
      descriptions: new Map(Object.entries(descriptions)),
      timeouts: {
        connectMs: parseDuration(timeouts?.connect ?? DEFAULT_CONNECT),
        listMs: parseDuration(timeouts?.list ?? DEFAULT_LIST),
        callMs: parseDuration(timeouts?.call ?? DEFAULT_CALL) || UNLIMITED_MS,
      },
    };
    const headers = this.#headers();
    const credentials = this.#credentials();
    const transport = headers === undefined || credentials === "invalid"
      ? undefined
      : this.#transport(headers, credentials);
    return transport && {
      settings,
      address: transport.kind === "http"
        ? transport.address.authority
        : transport.api.authority,
      transport,
    };
  }

  #transport(
    headers: Headers,
    credentials: BackendCredentials | undefined,
  ): McpTransport | undefined {
    const { url, openapi } = this.#server;
    if (openapi !== undefined) {
      return this.#openApi(openapi, headers, credentials);
    }
    const backend = this.#backendOf(url ?? "", ["url"]);
    if (backend === undefined) return undefined;
    const { host, pathname, search } = new URL(url ?? "");
    const path = pathname + search;
    return {
      kind: "http",
      address: { authority: host, path, headers },
      backend: { ...backend, ...(credentials && { credentials }) },
    };
  }

  #openApi(
    { file, url, baseUrl, include, exclude }: OpenApiResource,
    headers: Headers,
    credentials: BackendCredentials | undefined,
  ): McpTransport | undefined {
    const { host, pathname, search, hash } = new URL(baseUrl);
    if (search !== "" || hash !== "") {
      const problem =
        "the paths of the document follow it, so it cannot have a query";
      this.#reject(["openapi", "baseUrl"], problem);
      return undefined;
    }
    const backend = this.#backendOf(baseUrl, ["openapi", "baseUrl"]);
    const document = url === undefined
      ? this.#documentFile(file ?? "")
      : this.#documentAt(url);
    if (backend === undefined || document === undefined) return undefined;
    // The document says where a key goes; tokens are always those of `Authorization`.
    const isKey = credentials?.kind === "key";
    return {
      kind: "openapi",
      api: {
        authority: host,
        basePath: pathname.replace(/\/+$/, ""),
        headers,
        credential: isKey ? credentials.token : undefined,
      },
      operations: { include, exclude },
      document,
      backend: isKey || credentials === undefined
        ? backend
        : { ...backend, credentials },
    };
  }

  #documentFile(file: string): McpDocument | undefined {
    try {
      if (this.#resource.metadata.uid !== undefined) {
        throw new TypeError('a backend of the cluster needs "url"');
      }
      return { text: readFileOf(this.#context.inputs)(file) };
    } catch (error) {
      const problem = `Cannot read the document: ${describeReadError(error)}`;
      this.#reject(["openapi", "file"], problem);
      return undefined;
    }
  }

  #documentAt(url: string): McpDocument | undefined {
    const { host, pathname, search } = new URL(url);
    const backend = this.#backendOf(url, ["openapi", "url"], "/document");
    return backend && { authority: host, path: pathname + search, backend };
  }

  /** @param suffix Ends the key and the name of a backend besides that of the server. */
  #backendOf(
    url: string,
    field: DiagnosticPath,
    suffix = "",
  ): Backend | undefined {
    const { name, timeouts } = this.#server;
    const { protocol, username, password } = new URL(url);
    if (username !== "" || password !== "") {
      this.#reject(
        field,
        'a URL cannot have credentials; use "credentials" or "headers"',
      );
      return undefined;
    }
    const tls = this.#tls(url, protocol === "https:");
    if (tls === "invalid") return undefined;
    const address = addressOfUrl(url);
    const loopbackPorts = loopbackPortsOf([address], this.#context.inputs);
    return {
      ...address,
      ...(loopbackPorts.length > 0 && { loopbackPorts }),
      key: `${namespacedName(this.#resource)}#${name}${suffix}`,
      name: `${this.#resource.metadata.name}#${name}${suffix}`,
      protocol: "auto",
      tls,
      connectTimeoutMs: parseDuration(timeouts?.connect ?? DEFAULT_CONNECT),
    };
  }

  #headers(): Headers | undefined {
    const entries = Object.entries(this.#server.headers ?? {});
    for (const [name, value] of entries) {
      if (isReservedHeader(name.toLowerCase()) || !isFieldValue(value)) {
        const problem = isFieldValue(value)
          ? `the gateway writes "${name}" itself`
          : "a header value cannot contain line breaks or control characters";
        this.#reject(["headers", name], problem);
        return undefined;
      }
    }
    return entries;
  }

  #credentials(): BackendCredentials | "invalid" | undefined {
    const { name, credentials } = this.#server;
    if (credentials === undefined) return undefined;
    const key = `${namespacedName(this.#resource)}#${name}`;
    try {
      return compileCredentials(
        key,
        this.#resource,
        credentials,
        this.#context,
      );
    } catch (error) {
      if (!(error instanceof UnusableCredentials)) throw error;
      const problem = `Cannot use the credentials: ${error.message}`;
      this.#reject(["credentials", ...error.path], problem);
      return "invalid";
    }
  }

  #tls(url: string, isHttps: boolean): UpstreamTls | "invalid" | undefined {
    const { tls, openapi } = this.#server;
    if (!isHttps) {
      // A document may have another scheme than its API.
      if (tls === undefined || url === openapi?.url) return undefined;
      this.#reject(["tls"], '"tls" needs an "https" URL');
      return "invalid";
    }
    const { host } = addressOfUrl(url);
    try {
      return {
        hostname: url === openapi?.url ? host : tls?.hostname ?? host,
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
