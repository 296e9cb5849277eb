import {
  isReservedHeader,
  type McpServerResource,
  type OpenApiResource,
  type ServerBackendResource,
  type StdioResource,
} from "../../api/resources/mcp_backend.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeError } from "../../base/errors.ts";
import { describeReadError } from "../../base/regular_file.ts";
import { addressOfUrl } from "../../base/wire/host_port.ts";
import type { UpstreamTls } from "../../http/client/upstream.ts";
import { isFieldValue } from "../../http/field_syntax.ts";
import type { BackendCredentials } from "../../identity/backend_tokens/backend_credentials.ts";
import type { Backend, McpDocument } from "../../snapshot/backend.ts";
import type { Problem } from "../memory/report.ts";
import { authorityOf } from "./compile_balancing.ts";
import { compileCredentials } from "./compile_credentials.ts";
import {
  type BackendCompilation,
  UnusableCredentials,
} from "./backend_compilation.ts";
import {
  type CompiledTransport,
  compileProgram,
  programDenial,
} from "./mcp_programs.ts";

type Headers = readonly (readonly [name: string, value: string])[];

/** Finds the backend with a name that a server refers to; returns the problem if it cannot be one. */
export type FindHost = (
  name: string,
) => Backend | Pick<Problem, "message" | "suggestion">;

/** Dependencies of compiling a transport. */
export interface TransportOptions {
  /** Of the server. */
  readonly path: DiagnosticPath;
  /** Time limit to connect. */
  readonly connectMs: number;
  readonly findHost: FindHost;
}

/** Compiles how the gateway reaches a server; reports what cannot be used. */
export class TransportCompiler {
  readonly #compilation: BackendCompilation;
  readonly #server: McpServerResource;
  readonly #options: TransportOptions;

  constructor(
    compilation: BackendCompilation,
    server: McpServerResource,
    options: TransportOptions,
  ) {
    this.#compilation = compilation;
    this.#server = server;
    this.#options = options;
  }

  /** Returns the transport; `undefined` if it cannot be used. */
  compile(): CompiledTransport | undefined {
    const { stdio } = this.#server;
    if (stdio !== undefined) return this.#stdio(stdio);
    const headers = this.#headers();
    const credentials = this.#credentials();
    return headers === undefined || credentials === "invalid"
      ? undefined
      : this.#remote(headers, credentials);
  }

  #stdio(stdio: StdioResource): CompiledTransport | undefined {
    const { headers, credentials, tls } = this.#server;
    const unused = Object.entries({ headers, credentials, tls })
      .find(([, value]) => value !== undefined)?.[0];
    if (unused !== undefined) {
      this.#reject([unused], `"${unused}" needs "url"; use "env" of "stdio"`);
      return undefined;
    }
    const denial = this.#compilation.inputs.read(programDenial);
    if (denial !== undefined) {
      this.#reject(["stdio"], denial);
      return undefined;
    }
    return compileProgram(stdio);
  }

  #remote(
    headers: Headers,
    credentials: BackendCredentials | undefined,
  ): CompiledTransport | undefined {
    const { url, sse, openapi, backend: named } = this.#server;
    if (openapi !== undefined) {
      return this.#openApi(openapi, headers, credentials);
    }
    if (named !== undefined) return this.#named(named, headers, credentials);
    const kind = url === undefined ? "sse" : "http";
    const target = url ?? sse ?? "";
    const backend = this.#backendOf(target, [kind === "sse" ? "sse" : "url"]);
    if (backend === undefined) return undefined;
    const { host, pathname, search } = new URL(target);
    const address = { authority: host, path: pathname + search, headers };
    const own = { ...backend, ...(credentials && { credentials }) };
    return { address: host, transport: { kind, address, backend: own } };
  }

  /** Reaches a backend of the configuration. */
  #named(
    { name, path = "/mcp" }: ServerBackendResource,
    headers: Headers,
    credentials: BackendCredentials | undefined,
  ): CompiledTransport | undefined {
    if (this.#server.tls !== undefined) {
      this.#reject(["tls"], `set "tls" of the backend "${name}"`);
      return undefined;
    }
    const found = this.#options.findHost(name);
    if ("message" in found) {
      const place = [...this.#options.path, "backend", "name"];
      this.#compilation.error({ path: place, ...found });
      return undefined;
    }
    const authority = authorityOf(found);
    const address = { authority, path, headers };
    const backend = credentials === undefined
      ? found
      : { ...found, ...this.#namesOf(), credentials };
    return {
      address: authority,
      transport: { kind: "http", address, backend },
    };
  }

  #openApi(
    { file, url, baseUrl, include, exclude }: OpenApiResource,
    headers: Headers,
    credentials: BackendCredentials | undefined,
  ): CompiledTransport | undefined {
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
    const credential = isKey ? credentials.token : undefined;
    const basePath = pathname.replace(/\/+$/, "");
    return {
      address: host,
      transport: {
        kind: "openapi",
        api: { authority: host, basePath, headers, credential },
        operations: { include, exclude },
        document,
        backend: isKey || credentials === undefined
          ? backend
          : { ...backend, credentials },
      },
    };
  }

  #documentFile(file: string): McpDocument | undefined {
    try {
      if (this.#compilation.isOfCluster) {
        throw new TypeError('a backend of the cluster needs "url"');
      }
      return { text: this.#compilation.readFile(file) };
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
    const loopbackPorts = this.#compilation.loopbackPortsOf([address]);
    return {
      ...address,
      ...(loopbackPorts.length > 0 && { loopbackPorts }),
      ...this.#namesOf(suffix),
      protocol: "auto",
      tls,
      connectTimeoutMs: this.#options.connectMs,
    };
  }

  /** Returns the key and the name of a backend of the server's own. */
  #namesOf(suffix = ""): Pick<Backend, "key" | "name"> {
    const { key, resource: { metadata } } = this.#compilation;
    const { name } = this.#server;
    return {
      key: `${key}#${name}${suffix}`,
      name: `${metadata.name}#${name}${suffix}`,
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
    const { name, credentials, url, sse, openapi } = this.#server;
    if (credentials === undefined) return undefined;
    try {
      return compileCredentials(this.#compilation, credentials, {
        key: `${this.#compilation.key}#${name}`,
        url: url ?? sse ?? openapi?.baseUrl,
      });
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
          this.#compilation.loadCa(reference)
        ),
      };
    } catch (error) {
      const problem = `Cannot use CA certificate: ${describeError(error)}`;
      this.#reject(["tls", "caCertificateRefs"], problem);
      return "invalid";
    }
  }

  #reject(field: DiagnosticPath, message: string): void {
    const path = [...this.#options.path, ...field];
    this.#compilation.error({ path, message });
  }
}
