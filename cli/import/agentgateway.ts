import { importMcpTargets, importProvider } from "./imported_backends.ts";
import {
  type GatewayImport,
  importBind,
  importGateway,
  type ListenerRoutes,
} from "./imported_gateways.ts";
import { importPolicies, rejectRestrictions } from "./imported_policies.ts";
import {
  closed,
  importMatch,
  importRoute,
  type RouteContext,
  type RouteImport,
} from "./imported_routes.ts";
import type { SourceNode } from "./source_node.ts";

/** A configuration in the short form, with the place of each route in the file. */
export interface ImportedConfiguration {
  readonly config: Readonly<Record<string, unknown>> | undefined;
  readonly gateways: Readonly<Record<string, unknown>>;
  readonly routes: readonly RouteImport[];
}

/** Ports of the sections `llm` and `mcp` that name none. */
const defaultPorts = { llm: 4000, mcp: 3000 } as const;

/** Imports a configuration of agentgateway; the nodes know afterwards what was read. */
export function importAgentgateway(root: SourceNode): ImportedConfiguration {
  const gateways: GatewayImport[] = [
    ...root.get("binds")?.items().map(importBind) ?? [],
    ...root.get("gateways")?.members().map(([name, source]) =>
      importGateway(name, source)
    ) ?? [],
  ];
  const named = new Map(
    (root.get("backends")?.items() ?? []).flatMap((backend) => {
      const name = backend.get("name")?.text();
      return name === undefined ? [] : [[name, backend] as const];
    }),
  );
  const names = new Set<string>();
  const build = (source: SourceNode, context: RouteContext) =>
    importRoute(source, nameOf(source, names), context);
  const ofListeners = gateways.flatMap(({ name, routes, source }) =>
    routes.flatMap((listener: ListenerRoutes) =>
      listener.routes.map((route) =>
        build(route, {
          gateways: [name],
          hostname: listener.hostname,
          inherited: [source, ...listener.inherited],
          named,
        })
      )
    )
  );
  const free = (root.get("routes")?.items() ?? []).flatMap((route) => {
    const chosen = gatewaysOf(route, gateways);
    // Without names of gateways, the route would belong to all of them.
    if (chosen.length === 0) return [];
    return [build(route, {
      gateways: chosen.map(({ name }) => name),
      hostname: undefined,
      inherited: chosen.flatMap(({ source, routes }) => [
        source,
        ...routes.flatMap(({ inherited }) => inherited),
      ]),
      named,
    })];
  });
  const sections = importSections(root, names);
  return {
    config: importSettings(root.get("config")),
    gateways: Object.fromEntries([
      ...gateways.map(({ name, gateway }) => [name, gateway]),
      ...sections.gateways,
    ]),
    routes: closeAll(root, [...ofListeners, ...free, ...sections.routes]),
  };
}

/** Returns a name that is unique and has only characters that names may have. */
function nameOf(source: SourceNode, names: Set<string>): string {
  const text = source.get("name")?.text() ?? "route";
  const plain = text.toLowerCase().replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "route";
  let name = plain;
  for (let count = 2; names.has(name); count++) name = `${plain}-${count}`;
  names.add(name);
  return name;
}

function gatewaysOf(
  route: SourceNode,
  gateways: readonly GatewayImport[],
): readonly GatewayImport[] {
  const wanted = route.get("gateways")?.texts() ?? ["default"];
  const names = wanted.map((word) => word.split("/")[0]);
  const chosen = gateways.filter(({ name }) => names.includes(name));
  if (chosen.length === 0) {
    route.reject(`gateways: expected the name of a gateway, got ${wanted}`);
  } else if (wanted.some((word) => word.includes("/"))) {
    route.get("gateways")?.reject(
      "gateways: the route belongs to all listeners; use hostnames",
    );
  }
  return chosen;
}

function importSections(root: SourceNode, names: Set<string>) {
  const gateways: (readonly [string, unknown])[] = [];
  const routes: RouteImport[] = [];
  for (const kind of ["llm", "mcp"] as const) {
    const section = root.get(kind);
    if (section === undefined) continue;
    const attached = section.get("gateways")?.texts();
    const port = section.get("port")?.number() ?? defaultPorts[kind];
    const gatewayNames = attached ?? [`${kind}-gateway`];
    if (attached === undefined) gateways.push([`${kind}-gateway`, { port }]);
    const policies = section.get("policies");
    const make = kind === "mcp"
      ? [mcpRoute(section)]
      : section.get("models")?.items().map(modelRoute) ?? [];
    for (const { source, backend, missing, ...rest } of make) {
      const imported = importPolicies([policies]);
      const name = nameOf(source, names);
      const start = { name, gateways: gatewayNames, ...rest.matches };
      const lacking = [...imported.missing, ...missing];
      const route = lacking.length > 0 ? closed(start, lacking) : {
        ...start,
        policies: { ...imported.policies, ...rest.policies },
        backends: [backend],
      };
      routes.push({ route, source });
    }
  }
  return { gateways, routes };
}

function mcpRoute(section: SourceNode) {
  const { backend, path, missing } = importMcpTargets(section, {});
  return {
    source: section,
    backend,
    missing: missing === undefined ? [] : [missing],
    matches: {},
    policies: path === undefined ? {} : {
      urlRewrite: { path: { type: "ReplaceFullPath", replaceFullPath: path } },
    },
  };
}

function modelRoute(source: SourceNode) {
  const model = source.get("name")?.text() ?? "*";
  const params = source.get("params");
  const url = URL.parse(params?.get("baseUrl")?.text() ?? "");
  const conditions = source.get("matches")?.items().map(importMatch) ?? [];
  const { backend, missing } = importProvider(
    source,
    source.get("provider")?.text() ?? "",
    {
      model: params?.get("model")?.text(),
      key: params?.get("apiKey")?.text(),
      host: url?.host ?? params?.get("hostOverride")?.text(),
      basePath: url === null || url.pathname === "/" ? undefined : url.pathname,
      plainText: url?.protocol === "http:",
      region: (params?.get("vertexRegion") ?? params?.get("awsRegion"))?.text(),
      project: params?.get("vertexProject")?.text(),
    },
  );
  return {
    source,
    backend,
    missing: [
      ...(missing === undefined ? [] : [missing]),
      ...rejectRestrictions(source),
    ],
    matches: {
      matches: (conditions.length === 0 ? [{}] : conditions)
        .map((match) => ({ ...match, model })),
    },
    policies: {},
  };
}

function importSettings(source: SourceNode | undefined) {
  if (source === undefined) return undefined;
  const format = source.get("logging")?.get("format")?.text();
  const settings = {
    adminAddr: source.get("adminAddr")?.text(),
    statsAddr: source.get("statsAddr")?.text(),
    sensitiveHeaders: source.get("sensitiveHeaders")?.texts(),
    logging: format && { format },
  };
  return Object.values(settings).some((value) => value !== undefined)
    ? settings
    : undefined;
}

/** Closes all routes if the file restricts access in a place that has no counterpart. */
function closeAll(
  root: SourceNode,
  routes: readonly RouteImport[],
): readonly RouteImport[] {
  const network = root.get("frontendPolicies")?.get("networkAuthorization");
  network?.reject("networkAuthorization: no counterpart");
  const targeted = root.get("policies");
  targeted?.reject("policies: write them into the routes that they target");
  const missing = [
    ...(network === undefined ? [] : ["networkAuthorization"]),
    ...(targeted === undefined ? [] : ["policies"]),
  ];
  if (missing.length === 0) return routes;
  return routes.map(({ route, source }) => ({
    route: closed(route, missing),
    source,
  }));
}
