import {
  closed,
  type ImportedConfiguration,
  type RouteImport,
  RouteNames,
} from "../parts/imported_configuration.ts";
import {
  type Consumer,
  importPlugins,
  observers,
  readConsumers,
} from "./kong_plugins.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Port of Kong's proxy. */
const PORT = 8000;
/** Largest number of attempts here. */
const MAX_ATTEMPTS = 10;

interface KongService {
  readonly source: SourceNode;
  readonly backend: Readonly<Record<string, unknown>> | undefined;
  readonly path: string;
  /** Retries and time limits of its routes. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Surroundings of routes besides their service. */
interface Surroundings {
  /** Plugins of the whole file. */
  readonly plugins: readonly SourceNode[];
  /** Plugins at the top of the file that may restrict any route. */
  readonly missing: readonly string[];
  readonly consumers: readonly Consumer[];
  readonly names: RouteNames;
}

/** Imports a file of Kong's decK: a route for each of its routes, with the keys of consumers. */
export function importKong(root: SourceNode): ImportedConfiguration {
  root.get("_format_version");
  const plugins = root.get("plugins")?.items() ?? [];
  const surroundings = {
    plugins: plugins.filter((plugin) => scopeOf(plugin) === undefined),
    missing: plugins.flatMap(readScoped),
    consumers: readConsumers(root),
    names: new RouteNames(),
  };
  const services = new Map<string, KongService>();
  const routes: RouteImport[] = [];
  for (const source of root.get("services")?.items() ?? []) {
    const service = importService(source);
    services.set(source.get("name")?.text() ?? "", service);
    for (const route of source.get("routes")?.items() ?? []) {
      routes.push(importRoute(route, service, surroundings));
    }
  }
  for (const route of root.get("routes")?.items() ?? []) {
    const reference = route.get("service");
    const name = reference?.text() ?? reference?.get("name")?.text();
    routes.push(importRoute(route, services.get(name ?? ""), surroundings));
  }
  return { config: undefined, gateways: { default: { port: PORT } }, routes };
}

function importService(source: SourceNode): KongService {
  const text = source.get("url")?.text();
  const url = text === undefined ? undefined : URL.parse(text);
  const protocol = source.get("protocol")?.text() ??
    url?.protocol.slice(0, -1) ?? "http";
  const host = source.get("host")?.text() ?? url?.hostname;
  const port = source.get("port")?.number() ?? url?.port;
  const path = source.get("path")?.text() ?? url?.pathname ?? "/";
  if (host === undefined || !/^https?$/.test(protocol)) {
    source.reject("service: expected a host and the protocol http or https");
    return { source, backend: undefined, path, settings: {} };
  }
  const isTls = protocol === "https";
  const known = port === undefined || port === "" ? isTls ? 443 : 80 : port;
  return {
    source,
    path,
    settings: importSettings(source),
    backend: { host: `${host}:${known}`, ...isTls && { tls: {} } },
  };
}

/** Imports retries, and the time-out of a response; that of a connection and of writing have no counterpart in a route. */
function importSettings(source: SourceNode) {
  const attempts = source.get("retries")?.number();
  const milliseconds = source.get("read_timeout")?.number();
  for (const name of ["connect_timeout", "write_timeout"]) {
    source.get(name)?.note(
      `${name}: no counterpart in a route; write a named backend with timeouts`,
    );
  }
  return {
    ...typeof attempts === "number" && attempts > 0 &&
      { retry: { attempts: Math.min(attempts, MAX_ATTEMPTS) } },
    ...typeof milliseconds === "number" &&
      { timeouts: { backendRequest: durationOf(milliseconds) } },
  };
}

/** Durations have at most five digits. */
function durationOf(milliseconds: number): string {
  return milliseconds < 100_000
    ? `${milliseconds}ms`
    : `${Math.ceil(milliseconds / 1000)}s`;
}

function importRoute(
  source: SourceNode,
  service: KongService | undefined,
  { plugins, missing: scoped, consumers, names }: Surroundings,
): RouteImport {
  const sets = [
    plugins,
    service?.source.get("plugins")?.items() ?? [],
    source.get("plugins")?.items() ?? [],
  ];
  const imported = importPlugins(sets, consumers);
  const start = {
    name: names.take(source.get("name")?.text() ?? "route"),
    gateways: ["default"],
    ...listOf("hostnames", source.get("hosts")?.texts()),
    ...listOf("matches", importMatches(source)),
  };
  const backend = imported.backend ?? service?.backend;
  const rewrite = imported.backend === undefined
    ? importRewrite(source, service?.path ?? "/")
    : { policies: {} };
  const missing = [
    ...scoped,
    ...imported.missing,
    ...rewrite.missing === undefined ? [] : [rewrite.missing],
    ...backend === undefined ? ["service"] : [],
  ];
  if (missing.length > 0) {
    const route = closed(start, missing, imported.policies);
    return { source, route };
  }
  const policies = { ...imported.policies, ...rewrite.policies };
  return {
    source,
    route: {
      ...start,
      ...imported.backend === undefined && service?.settings,
      ...Object.keys(policies).length > 0 && { policies },
      backends: [backend],
    },
  };
}

/** Returns the kind of what a plugin at the top of the file is about; `undefined` for all routes. */
function scopeOf(plugin: SourceNode): string | undefined {
  return ["service", "route", "consumer", "consumer_group"]
    .find((name) => plugin.has(name));
}

/** Returns the name of a plugin that is about some routes, unless it restricts none. */
function readScoped(plugin: SourceNode): readonly string[] {
  const scope = scopeOf(plugin);
  if (scope === undefined) return [];
  const name = plugin.get("name")?.text() ?? "";
  const isOff = plugin.get("enabled")?.text() === "false";
  plugin.reject(`plugins: write ${name} below its ${scope}`);
  return isOff || observers.has(name) ? [] : [name];
}

function importMatches(source: SourceNode): readonly object[] {
  const paths = (source.get("paths")?.texts() ?? []).map((path) => ({
    path: path.startsWith("~")
      ? { type: "RegularExpression", value: path.slice(1) }
      : { type: "PathPrefix", value: path },
  }));
  const methods = source.get("methods")?.texts() ?? [];
  const withHeaders = (paths.length === 0 ? [{}] : paths).flatMap((match) =>
    importHeaders(source).map((headers) => ({
      ...match,
      ...headers.length > 0 && { headers },
    }))
  );
  return methods.length === 0
    ? withHeaders
    : withHeaders.flatMap((match) =>
      methods.map((method) => ({ ...match, method }))
    );
}

/** Returns the headers of each match: of several values of a header, Kong wants one. */
function importHeaders(source: SourceNode): readonly (readonly object[])[] {
  const headers = source.get("headers")?.members() ?? [];
  return headers.reduce<readonly (readonly object[])[]>(
    (matches, [name, node]) => {
      const values = node.texts();
      // A header without a value becomes an invalid match, and not a missing one.
      return matches.flatMap((match) =>
        (values.length === 0 ? [undefined] : values)
          .map((value) => [...match, { name, value }])
      );
    },
    [[]],
  );
}

/** Imports what becomes of the path: Kong removes the one that matched, unless `strip_path` is false. */
function importRewrite(
  source: SourceNode,
  path: string,
): { readonly policies: object; readonly missing?: string } {
  const isStripped = source.get("strip_path")?.text() !== "false";
  const paths = source.get("paths")?.texts() ?? [];
  const keepsHost = source.get("preserve_host")?.isTrue() ?? false;
  if (keepsHost) {
    source.get("preserve_host")?.note(
      "preserve_host: the host of the backend is sent; set urlRewrite.hostname",
    );
  }
  const base = path.replace(/\/$/, "");
  if (paths.length === 0 && base === "") return { policies: {} };
  if (!isStripped && base === "") return { policies: {} };
  if (!isStripped || paths.some((each) => each.startsWith("~"))) {
    source.reject(
      "paths: a path of the service without strip_path, or strip_path with a regular expression, has no counterpart; write urlRewrite",
    );
    return { policies: {}, missing: "paths" };
  }
  const replacePrefixMatch = base === "" ? "/" : base;
  return {
    policies: {
      urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch } },
    },
  };
}

function listOf(name: string, items: readonly unknown[] | undefined) {
  return items === undefined || items.length === 0 ? {} : { [name]: items };
}
