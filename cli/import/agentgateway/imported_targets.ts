import { importCredentials } from "./imported_credentials.ts";
import { listAt } from "../../../src/base/json.ts";
import { rejectRestrictions } from "./imported_policies.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** A backend with MCP servers, or the reason why it has no counterpart. */
export interface TargetsImport {
  readonly backend?: Readonly<Record<string, unknown>>;
  readonly missing?: string;
}

/** The verification of certificates for servers with `https`. */
export type ImportedTls = Readonly<Record<string, unknown>> | undefined;

const prefixModes: ReadonlyMap<string, string> = new Map(Object.entries({
  always: "Always",
  never: "Never",
  conditional: "Auto",
}));

/** Settings of a route for its backends. */
interface TargetContext {
  readonly tls?: ImportedTls;
  /** Credentials at servers that have none of their own. */
  readonly auth?: SourceNode | undefined;
}

/** Imports the targets of an MCP backend as servers behind one endpoint. */
export function importMcpTargets(
  source: SourceNode,
  context: TargetContext,
): TargetsImport {
  const targets = source.get("targets")?.items() ?? [];
  // The gateway keeps sessions if a server has them, and lists the servers that respond.
  source.get("statefulMode");
  source.get("failureMode");
  const mode = source.get("prefixMode");
  const prefix = prefixModes.get(mode?.text() ?? "conditional");
  if (prefix === undefined) {
    mode?.reject("prefixMode: expected always, never or conditional");
  }
  const servers = targets.flatMap((target) =>
    importTarget(target, context) ?? []
  );
  if (servers.length === 0 || servers.length < targets.length) {
    if (targets.length === 0) source.reject("targets: expected MCP servers");
    return { missing: "mcp" };
  }
  const own = prefix === undefined || prefix === "Auto" ? {} : { prefix };
  return { backend: { mcp: { servers, ...own } } };
}

/** Returns `undefined` for a target without a counterpart. */
function importTarget(
  target: SourceNode,
  { tls, auth }: TargetContext,
): object | undefined {
  const name = (target.get("name")?.text() ?? "server")
    .replaceAll(/[^A-Za-z0-9-]+/g, "-");
  const policies = target.get("policies");
  if (rejectRestrictions(policies).length > 0) return undefined;
  const own = policies?.get("backendAuth") ?? auth;
  const credentials = importCredentials(own, `mcp_${name}`);
  if ("missing" in credentials) return undefined;
  const stdio = target.get("stdio");
  if (stdio !== undefined) return { name, stdio: importStdio(stdio) };
  const api = target.get("openapi");
  if (api !== undefined) {
    const openapi = importOpenApi(api, tls);
    return openapi && { name, openapi, ...credentials };
  }
  const kind = target.has("sse") ? "sse" : "url";
  const remote = target.get("mcp") ?? target.get("sse");
  const url = remote && urlOf(remote, tls);
  if (url !== undefined) {
    const verified = url.startsWith("https:") && tls !== undefined;
    return { name, [kind]: url, ...credentials, ...(verified && { tls }) };
  }
  target.reject("target: only hosts, programs and OpenAPI have counterparts");
  return undefined;
}

function importStdio(source: SourceNode) {
  if (source.get("clear_env")?.isTrue() !== true) {
    source.note(
      "stdio: of the gateway's environment, the program gets only PATH, HOME, LANG, TMPDIR and TZ; name others in env",
    );
  }
  const args = source.get("args")?.texts() ?? [];
  const env = (source.get("env")?.members() ?? [])
    .flatMap(([name, value]) => {
      const text = value.text();
      return text === undefined ? [] : [[name, text] as const];
    });
  return {
    command: source.get("cmd")?.text(),
    ...(args.length > 0 && { args }),
    ...(env.length > 0 && { env: Object.fromEntries(env) }),
  };
}

function importOpenApi(source: SourceNode, tls: ImportedTls) {
  const schema = source.get("schema");
  const file = schema?.get("file")?.text();
  const url = schema?.get("url")?.text();
  const baseUrl = urlOf(source, tls);
  if (baseUrl !== undefined && (file ?? url) !== undefined) {
    return { file, url: file === undefined ? url : undefined, baseUrl };
  }
  source.reject("openapi: expected host, and schema with file or url");
  return undefined;
}

/** Returns the URL of a host, or of host, port and path. */
function urlOf(source: SourceNode, tls: ImportedTls): string | undefined {
  const host = source.get("host")?.text();
  if (host === undefined) return undefined;
  const scheme = tls === undefined ? "http" : "https";
  const url = URL.parse(/^https?:/.test(host) ? host : `${scheme}://${host}`);
  if (url === null) return undefined;
  const port = source.get("port")?.text();
  const path = source.get("path")?.text();
  if (port !== undefined) url.port = port;
  return path === undefined ? url.href : new URL(path, url).href;
}

/**
 * Reports rules about tools of several servers: here, names of tools begin with that of their server, so a rule that denies a tool
 * would deny none. Returns the policy that is missing.
 */
export function rejectToolRules(
  sources: readonly (SourceNode | undefined)[],
  backends: readonly unknown[],
): readonly string[] {
  const rules = sources.flatMap((each) => each?.get("mcpAuthorization") ?? []);
  const hasSeveral = backends.some((backend) =>
    listAt(backend, "mcp", "servers").length > 1
  );
  if (rules.length === 0 || !hasSeveral) return [];
  for (const each of rules) {
    each.reject(
      "mcpAuthorization: of several servers, write rules with the names that clients see, such as server_tool",
    );
  }
  return ["mcpAuthorization"];
}
