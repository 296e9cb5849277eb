import type {
  McpBackend,
  McpServerResource,
} from "../../api/resources/mcp_backend.ts";
import { parseDuration } from "../../api/schema/duration.ts";
import type { DiagnosticPath } from "../../base/diagnostic.ts";
import { describeReadError } from "../../base/regular_file.ts";
import { isPerCaller } from "../../identity/backend_tokens/backend_credentials.ts";
import { readLockFile } from "../../mcp/approval/tool_lock.ts";
import type { McpTimeouts } from "../../mcp/servers/mcp_settings.ts";
import type { ToolApproval } from "../../mcp/servers/tool_approval.ts";
import type {
  Backend,
  McpTargetServer,
  McpTransport,
} from "../../snapshot/backend.ts";
import type { BackendCompilation } from "./backend_compilation.ts";
import { type FindHost, TransportCompiler } from "./mcp_transports.ts";

const DEFAULT_CONNECT = "3s";
/** Programs take longer to start. */
const DEFAULT_START = "10s";
const DEFAULT_LIST = "3s";
const DEFAULT_CALL = "5m";
const UNLIMITED_MS = 2 ** 31 - 1;

/** Compiles the servers of an endpoint; reports those that cannot be used, and returns `undefined` then. */
export function compileMcp(
  compilation: BackendCompilation,
  { servers, prefix = "Auto", discovery, pinned = [], lock }: McpBackend,
  findHost: FindHost,
): Pick<Backend, "host" | "port" | "tls" | "mcp"> | undefined {
  const isPrefixed = prefix === "Always" ||
    prefix === "Auto" && servers.length > 1;
  const approvalOf = compileLock(compilation, lock);
  if (approvalOf === undefined) return undefined;
  const hasRepeatedNames = reportRepeatedNames(compilation, servers);
  const compiled = servers.map((server, index): McpTargetServer | undefined => {
    const path: DiagnosticPath = ["spec", "mcp", "servers", index];
    const { name, tools, descriptions = {} } = server;
    const timeouts = timeoutsOf(server);
    const { connectMs } = timeouts;
    const options = { path, connectMs, findHost };
    const reached = new TransportCompiler(compilation, server, options)
      .compile();
    return reached && {
      ...reached,
      settings: {
        name,
        prefix: server.prefix ?? (isPrefixed ? name : ""),
        asksUsers: asksUsers(reached),
        tools,
        approval: approvalOf(name),
        descriptions: new Map(Object.entries(descriptions)),
        timeouts,
      },
    };
  });
  const usable = compiled.filter((server) => server !== undefined);
  if (hasRepeatedNames || usable.length < compiled.length) return undefined;
  if (lock?.trust !== undefined && usable.some(listsPerCaller)) {
    const message =
      "Servers that get tokens of the caller list tools for each user: `trust` cannot approve them; use `file`";
    compilation.error({ path: ["spec", "mcp", "lock", "trust"], message });
    return undefined;
  }
  const { name: host } = compilation.resource.metadata;
  return {
    host,
    port: 0,
    tls: undefined,
    mcp: {
      servers: usable,
      ...(discovery === "Search" && { discovery: { pinned } }),
    },
  };
}

/** Reports servers with the name of an earlier one. Not a rule of the schema, which would hide the problems of such a server. */
function reportRepeatedNames(
  compilation: BackendCompilation,
  servers: readonly McpServerResource[],
): boolean {
  const names = servers.map(({ name }) => name);
  const repeated = [...names.keys()].filter((index) =>
    names.indexOf(names[index] ?? "") < index
  );
  for (const index of repeated) {
    compilation.error({
      path: ["spec", "mcp", "servers", index, "name"],
      message: `server name "${names[index]}" appears twice`,
    });
  }
  return repeated.length > 0;
}

/** Returns how the tools of each server are approved; reports a file that cannot be used. */
function compileLock(
  compilation: BackendCompilation,
  lock: McpBackend["lock"],
): ((server: string) => ToolApproval | undefined) | undefined {
  if (lock?.file === undefined) {
    const { trust, newTools = "Hold" } = lock ?? {};
    return () => trust && { kind: "firstUse", newTools };
  }
  try {
    if (compilation.isOfCluster) {
      throw new TypeError("a backend of the cluster cannot have one");
    }
    const locks = readLockFile(compilation.readFile(lock.file));
    return (name) => ({ kind: "file", lock: locks.get(name) ?? new Map() });
  } catch (error) {
    const problem = describeReadError(error);
    const message =
      `Cannot read the lock file: ${problem}; "gwctl mcp lock --write" creates it`;
    compilation.error({ path: ["spec", "mcp", "lock", "file"], message });
    return undefined;
  }
}

function listsPerCaller({ transport }: McpTargetServer): boolean {
  return backendsOf(transport).some(({ credentials }) =>
    isPerCaller(credentials)
  );
}

/** Returns the backends that requests to a server go to. */
export function backendsOf(transport: McpTransport): readonly Backend[] {
  if (transport.kind === "stdio") return [];
  const { backend } = transport;
  return transport.kind === "openapi" && "backend" in transport.document
    ? [backend, transport.document.backend]
    : [backend];
}

function timeoutsOf({ timeouts, stdio }: McpServerResource): McpTimeouts {
  const defaultConnect = stdio === undefined ? DEFAULT_CONNECT : DEFAULT_START;
  return {
    connectMs: parseDuration(timeouts?.connect ?? defaultConnect),
    listMs: parseDuration(timeouts?.list ?? DEFAULT_LIST),
    callMs: parseDuration(timeouts?.call ?? DEFAULT_CALL) || UNLIMITED_MS,
  };
}

function asksUsers({ transport }: Pick<McpTargetServer, "transport">): boolean {
  return transport.kind !== "stdio" &&
    transport.backend.credentials?.kind === "oauth";
}
