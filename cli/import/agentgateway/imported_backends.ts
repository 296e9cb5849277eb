import {
  importProvider,
  type ProviderImport,
} from "../parts/imported_provider.ts";
import { rejectRestrictions } from "./imported_policies.ts";
import { type ImportedTls, importMcpTargets } from "./imported_targets.ts";
import { importCredentials } from "./imported_credentials.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Backends of a route. */
export interface BackendImport {
  readonly backends: readonly unknown[];
  /** Backends that these refer to by name. */
  readonly named: readonly object[];
  /** Reason why a backend has no counterpart. */
  readonly missing: readonly string[];
}

/** Context of a backend. */
export interface BackendContext {
  /** Name of the route. */
  readonly route: string;
  /** Backends that routes refer to by name. */
  readonly named: ReadonlyMap<string, SourceNode>;
  /** Policies of the route, some of which are about its backends. */
  readonly policies: SourceNode | undefined;
}

/** Imports the backends of a route. */
export function importBackends(
  source: SourceNode | undefined,
  context: BackendContext,
): BackendImport {
  const all = (source?.items() ?? []).map((item, index) => {
    const weight = item.get("weight")?.number();
    const name = item.get("backend")?.text();
    const found = name === undefined ? item : context.named.get(name) ?? item;
    const places = [item, found, found.get("ai"), found.get("mcp")];
    const restrictions = [...new Set(places)]
      .flatMap((each) => rejectRestrictions(each?.get("policies")));
    return { weight, restrictions, ...importBackend(found, context, index) };
  });
  return {
    backends: all.flatMap(({ backend, weight }) =>
      backend === undefined
        ? []
        : [{ ...backend, ...(weight !== undefined && { weight }) }]
    ),
    named: all.flatMap(({ named }) => named ?? []),
    missing: all.flatMap(({ missing, restrictions }) => [
      ...restrictions,
      ...(missing === undefined ? [] : [missing]),
    ]),
  };
}

interface OneBackend extends ProviderImport {
  readonly named?: object;
}

function importBackend(
  source: SourceNode,
  context: BackendContext,
  index: number,
): OneBackend {
  const tls = importTls(source, context);
  const auth = authOf(source, context);
  const host = source.get("host")?.text();
  if (host !== undefined) {
    const imported = importCredentials(auth, host);
    if ("missing" in imported) return imported;
    const { credentials } = imported;
    return credentials === undefined
      ? { backend: { host, ...(tls && { tls }) } }
      : importHost(`${context.route}-${index + 1}`, host, { tls, credentials });
  }
  const mcp = source.get("mcp");
  if (mcp !== undefined) return importMcpTargets(mcp, { tls, auth });
  const ai = source.get("ai");
  if (ai !== undefined) return importAi(ai, source, context);
  source.reject("backend: only host, mcp and ai have counterparts");
  return { missing: "backend" };
}

/** Only backends with a name have credentials. */
function importHost(
  name: string,
  address: string,
  { tls, credentials }: {
    readonly tls: ImportedTls;
    readonly credentials: object;
  },
): OneBackend {
  const [, host = address, port = "80"] = /^(.+):(\d+)$/.exec(address) ?? [];
  return {
    backend: { backend: name },
    named: {
      name,
      static: { host, port: Number(port) },
      ...(tls && { tls }),
      credentials,
    },
  };
}

/** Returns the credentials of a backend, which win over those of its route. */
function authOf(
  source: SourceNode,
  { policies }: BackendContext,
): SourceNode | undefined {
  return source.get("policies")?.get("backendAuth") ??
    policies?.get("backendAuth");
}

function importTls(
  source: SourceNode,
  { policies }: BackendContext,
): ImportedTls {
  const found = source.get("policies")?.get("backendTLS") ??
    policies?.get("backendTLS");
  if (found === undefined) return undefined;
  const file = found.get("root")?.text();
  return {
    hostname: found.get("hostname")?.text(),
    ...(file !== undefined && { caCertificateRefs: [{ file }] }),
  };
}

function importAi(
  ai: SourceNode,
  source: SourceNode,
  context: BackendContext,
): ProviderImport {
  ai.get("name");
  const [entry, second] = ai.get("provider")?.members() ?? [];
  if (entry === undefined || second !== undefined) {
    ai.reject("ai: expected one provider; write several backends");
    return { missing: "ai" };
  }
  const [name, settings] = entry;
  const auth = ai.get("policies")?.get("backendAuth") ??
    authOf(source, context);
  const override = ai.get("hostOverride")?.text();
  const isTls = [source.get("policies"), context.policies].some((each) =>
    each?.has("backendTLS")
  );
  const credentials = importCredentials(auth, name);
  if ("missing" in credentials) return credentials;
  return importProvider(ai, name, {
    model: settings.get("model")?.text(),
    region: settings.get("region")?.text(),
    project: settings.get("projectId")?.text(),
    host: override ?? settings.get("host")?.text(),
    ...credentials,
    plainText: override !== undefined && !isTls,
  });
}
