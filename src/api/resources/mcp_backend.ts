import { protectedHeaders } from "../../base/wire/protected_headers.ts";
import { duration, positiveDuration } from "../schema/duration.ts";
import {
  headerName,
  httpUrl,
  referenceName,
  urlPath,
} from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";
import { backendCredentials } from "./credentials/credentials_schema.ts";
import { backendTlsEntries } from "./backend_tls_policy.ts";

const serverName = s.named(
  "server name",
  s.pattern(
    /^[A-Za-z](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?$/,
    'a name of letters, digits and "-", such as "github"',
    32,
  ),
);

const prefix = s.pattern(
  /^(?:[A-Za-z](?:[A-Za-z0-9-]{0,30}[A-Za-z0-9])?)?$/,
  'letters, digits and "-", such as "github", or an empty string',
  32,
);

const serverTls = s.object({
  hostname: s.field(
    "Server name (SNI) that the gateway sends and that the certificate must match. Default: the host of the URL.",
    s.optional(backendTlsEntries.hostname),
  ),
  caCertificateRefs: backendTlsEntries.caCertificateRefs,
});

const operationPattern = s.pattern(
  /^(?:tag:.+|[A-Z*]+ \/.*|[A-Za-z0-9_*\/.:-]+)$/,
  'an operation such as "getPet*", "GET /pets*" or "tag:pets"',
  512,
);

const openApiSchema = s.refine(
  s.object({
    file: s.field(
      "OpenAPI document, JSON or YAML, in configuration files; a changed file applies at once.",
      s.optional(s.text(4096)),
    ),
    url: s.field(
      "URL of the document, which the gateway fetches without credentials, again every hour.",
      s.optional(httpUrl),
    ),
    baseUrl: s.field(
      "URL that the paths of the document follow, such as `https://api.example.com/v1`. The `servers` of the document are not used: whoever changes the document could send credentials elsewhere with them.",
      httpUrl,
    ),
    include: s.field(
      "Operations that are tools: by `operationId` (`getPet*`), method and path (`GET /pets*`) or tag (`tag:pets`); `*` stands for anything. Default: all.",
      s.optional(s.list(operationPattern, { max: 1024 })),
    ),
    exclude: s.field(
      "Operations that are not, by the same patterns.",
      s.optional(s.list(operationPattern, { max: 1024 })),
    ),
  }),
  s.exactlyOne("file", "url"),
);

/** A REST API as an MCP server. */
export type OpenApiResource = s.Infer<typeof openApiSchema>;

/** A backend of the configuration as an MCP server. */
const serverBackendSchema = s.object({
  name: s.field(
    "Name of a backend with a host, of the same namespace.",
    referenceName,
  ),
  path: s.field(
    "Path of its Streamable HTTP endpoint.",
    s.optional(urlPath),
    "/mcp",
  ),
});

/** A reference to the backend that is a server. */
export type ServerBackendResource = s.Infer<typeof serverBackendSchema>;

const variable = s.pattern(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  'the name of an environment variable, such as "API_KEY"',
  256,
);

const MAX_MEMORY = 1 << 30;

/** A program that the gateway runs, and that speaks over its standard input and output. */
const stdioSchema = s.object({
  command: s.field(
    "Path of the program, or its name in `PATH`. The gateway starts it with `/bin/sh`.",
    s.text(4096),
  ),
  args: s.field(
    "Arguments. Other users of the machine can see them: secrets belong into `env`.",
    s.optional(s.list(s.secret(), { max: 256 })),
  ),
  env: s.field(
    "Environment variables, besides `PATH`, `HOME`, `LANG`, `TMPDIR` and `TZ` of the gateway, such as `API_KEY: ${API_KEY}`. No other reaches the program.",
    s.optional(s.map(variable, s.secret())),
  ),
  cwd: s.field(
    "Working directory. Default: that of the gateway.",
    s.optional(s.text(4096)),
  ),
  share: s.field(
    "Whom a process serves: one `User` (the issuer and `sub` of a token, or an API key; clients without identity are one user), or `All`, which then share what it remembers.",
    s.optional(s.oneOf(["User", "All"])),
    "User",
  ),
  maxProcesses: s.field(
    "Maximum number of processes for the calls of users. When all are in use, calls of further users fail.",
    s.optional(s.integer(1, 10_000)),
    32,
  ),
  maxMemoryBytes: s.field(
    "Memory of a process, with those that it has started; one that uses more is ended.",
    s.optional(s.integer(1 << 20, Number.MAX_SAFE_INTEGER)),
    MAX_MEMORY,
  ),
  idleTimeout: s.field(
    "Time without a request after which a process is ended; the next request starts another one.",
    s.optional(positiveDuration),
    "10m",
  ),
});

/** Fields of one server. */
const mcpServerEntries = {
  name: s.field("Name in messages, metrics and rules.", serverName),
  url: s.field(
    "Streamable HTTP endpoint, such as `https://mcp.example.com/mcp`.",
    s.optional(httpUrl),
  ),
  sse: s.field(
    "Event stream of a server of 2024-11-05, which has no Streamable HTTP endpoint, such as `https://mcp.example.com/sse`.",
    s.optional(httpUrl),
  ),
  stdio: s.field(
    "A program that the gateway runs, instead of `url`. In a cluster only with `config.clusterStdio`.",
    s.optional(stdioSchema),
  ),
  openapi: s.field(
    "REST API with an OpenAPI document (3.0 or 3.1): its operations are the tools.",
    s.optional(openApiSchema),
  ),
  backend: s.field(
    "Backend of the configuration, instead of `url`: requests go to its endpoints, with its TLS, credentials, limits and health checks. Those of a session stay at one endpoint.",
    s.optional(serverBackendSchema),
  ),
  headers: s.field(
    "Header fields of all requests to the server. Clients' own credentials do not reach it.",
    s.optional(s.map(headerName, s.secret())),
  ),
  credentials: s.field(
    "Token for the server, or how the gateway gets one, sent as `Authorization: Bearer`, and keys to a REST API as its document says. Default: none.",
    s.optional(backendCredentials),
  ),
  tls: s.field(
    "Verification of the server's certificate, for `https` URLs.",
    s.optional(serverTls),
  ),
  prefix: s.field(
    "Beginning of the names of its tools and prompts, and of the URIs of its resources. Default: its name, as `prefix` of the backend says.",
    s.optional(prefix),
  ),
  tools: s.field(
    "Tools that clients can see and call, by the server's own names; a `*` at the end stands for any rest. Default: all.",
    s.optional(s.list(s.text(256), { max: 1024 })),
  ),
  descriptions: s.field(
    "Descriptions that replace those of the server, by its own names of tools.",
    s.optional(s.map(s.text(256), s.text(16_384))),
  ),
  timeouts: s.field(
    "Time-outs of the server.",
    s.optional(s.object({
      connect: s.field(
        "Time limit to connect and to agree on a protocol version. Default: `3s`; for `stdio`, which includes the start of the program, `10s`.",
        s.optional(positiveDuration),
      ),
      list: s.field(
        "Time limit for a list; a server that needs longer is missing in it.",
        s.optional(positiveDuration),
        "3s",
      ),
      call: s.field(
        "Time limit between two messages of a call. `0s` is unlimited.",
        s.optional(duration),
        "5m",
      ),
    })),
  ),
};

const mcpServerSchema = s.refine(
  s.object(mcpServerEntries),
  s.exactlyOne("url", "sse", "stdio", "openapi", "backend"),
);

const lockSchema = s.refine(
  s.object({
    file: s.field(
      "File that `gwctl mcp lock` has written, in configuration files; a changed file applies at once.",
      s.optional(s.text(4096)),
    ),
    trust: s.field(
      "`FirstUse` approves tools as the gateway first sees them, and holds back what changes afterwards until an administrator approves it. `config.kv` keeps the approved definitions; without it, a restart forgets them.",
      s.optional(s.oneOf(["FirstUse"])),
    ),
    newTools: s.field(
      "Tools that a server adds after its first list: `Hold` holds them back until they are approved, `Trust` approves each as it is first seen. Only with `trust`.",
      s.optional(s.oneOf(["Hold", "Trust"])),
      "Hold",
    ),
  }),
  s.exactlyOne("file", "trust"),
  s.atMostOne("file", "newTools"),
);

/** Several MCP servers as one backend. */
export const mcpBackendSchema = s.object({
  servers: s.field(
    "The servers, in the order in which clients see their tools.",
    s.list(mcpServerSchema, { min: 1, max: 64 }),
  ),
  prefix: s.field(
    "When names of tools and prompts begin with the name of their server: `Auto` if there are several servers. Names that two servers have are not listed.",
    s.optional(s.oneOf(["Auto", "Always", "Never"])),
    "Auto",
  ),
  discovery: s.field(
    "`Full` lists the tools of all servers. `Search` lists `search_tools`, `describe_tools` and `call_tool`, with which clients find and call them, and what is pinned.",
    s.optional(s.oneOf(["Full", "Search"])),
    "Full",
  ),
  lock: s.field(
    "Approved definitions of tools. Tools that differ are neither listed nor called.",
    s.optional(lockSchema),
  ),
  pinned: s.field(
    "Tools that `Search` lists too, by the names that clients use; a `*` at the end stands for any rest.",
    s.optional(s.list(s.text(256), { max: 64 })),
  ),
});

/** Several MCP servers as one backend. */
export type McpBackend = s.Infer<typeof mcpBackendSchema>;

/** One of the servers. */
export type McpServerResource = McpBackend["servers"][number];

/** Program of a server, and limits of its processes. */
export type StdioResource = s.Infer<typeof stdioSchema>;

/** Reports whether a backend has a program that the gateway runs. */
export function hasProgram(
  { spec }: { readonly spec: { readonly mcp?: McpBackend | undefined } },
): boolean {
  return spec.mcp?.servers.some(({ stdio }) => stdio !== undefined) ?? false;
}

/** Headers that the gateway writes itself in requests to servers. */
const written: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "last-event-id",
]);

/** Reports whether the gateway writes a header of requests to MCP servers itself. @param name In lower case. */
export function isReservedHeader(name: string): boolean {
  return protectedHeaders.has(name) || written.has(name) ||
    name.startsWith("mcp-");
}
