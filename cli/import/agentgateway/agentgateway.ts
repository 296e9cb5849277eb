import {
  type GatewayImport,
  importBind,
  importGateway,
  type ListenerRoutes,
} from "./imported_gateways.ts";
import { importPolicies, rejectRestrictions } from "./imported_policies.ts";
import {
  closed,
  type ImportedConfiguration,
  type RouteImport,
  RouteNames,
} from "../parts/imported_configuration.ts";
import { importProvider } from "../parts/imported_provider.ts";
import {
  importMatch,
  importRoute,
  type RouteContext,
} from "./imported_routes.ts";
import { importSettings } from "./imported_settings.ts";
import { importMcpTargets, rejectToolRules } from "./imported_targets.ts";
import type { SourceNode } from "../parts/source_node.ts";

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
  const names = new RouteNames();
  const build = (source: SourceNode, context: RouteContext) =>
    importRoute(
      source,
      names.take(source.get("name")?.text() ?? "route"),
      context,
    );
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
    config: importSettings(root),
    gateways: Object.fromEntries([
      ...gateways.map(({ name, gateway }) => [name, gateway]),
      ...sections.gateways,
    ]),
    routes: closeAll(root, [...ofListeners, ...free, ...sections.routes]),
  };
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

function importSections(root: SourceNode, names: RouteNames) {
  const gateways: (readonly [string, unknown])[] = [];
  const routes: RouteImport[] = [];
  const hasDefault = root.get("gateways")?.has("default") === true;
  for (const kind of ["llm", "mcp"] as const) {
    const section = root.get(kind);
    if (section === undefined) continue;
    const named = section.get("gateways")?.texts() ??
      (hasDefault && !section.has("port") ? ["default"] : undefined);
    const port = section.get("port")?.number() ?? defaultPorts[kind];
    const gatewayNames = named ?? [`${kind}-gateway`];
    if (named === undefined) gateways.push([`${kind}-gateway`, { port }]);
    const policies = section.get("policies");
    const make = kind === "mcp"
      ? [mcpRoute(section, named !== undefined)]
      : section.get("models")?.items().map((model) =>
        modelRoute(model, section.get("providers"))
      ) ?? [];
    for (const { source, backend, missing, ...rest } of make) {
      const imported = importPolicies([policies]);
      const name = names.take(source.get("name")?.text() ?? "route");
      const start = { name, gateways: gatewayNames, ...rest.matches };
      const lacking = [
        ...imported.missing,
        ...missing,
        ...rejectToolRules([policies], [backend]),
      ];
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

/** @param isShared The gateway has other routes. */
function mcpRoute(section: SourceNode, isShared: boolean) {
  const { backend, missing } = importMcpTargets(section, {
    auth: section.get("policies")?.get("backendAuth"),
  });
  return {
    source: section,
    backend,
    missing: missing === undefined ? [] : [missing],
    matches: isShared
      ? { matches: [{ path: { type: "PathPrefix", value: "/mcp" } }] }
      : {},
    policies: {},
  };
}

function modelRoute(source: SourceNode, providers: SourceNode | undefined) {
  const model = source.get("name")?.text() ?? "*";
  const provider = source.get("provider");
  const reference = provider?.get("reference")?.text();
  const shared = providers?.items().find((each) =>
    reference !== undefined && each.get("name")?.text() === reference
  );
  const own = source.get("params");
  const common = shared?.get("params");
  const textOf = (name: string) =>
    own?.get(name)?.text() ?? common?.get(name)?.text();
  const url = URL.parse(textOf("baseUrl") ?? "");
  const conditions = source.get("matches")?.items().map(importMatch) ?? [];
  const { backend, missing } = importProvider(
    source,
    provider?.text() ?? shared?.get("provider")?.text() ?? "",
    {
      model: textOf("model"),
      key: textOf("apiKey"),
      host: url?.host ?? textOf("hostOverride"),
      basePath: url === null || url.pathname === "/" ? undefined : url.pathname,
      plainText: url?.protocol === "http:",
      region: textOf("vertexRegion") ?? textOf("awsRegion"),
      project: textOf("vertexProject"),
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
  return routes.map((each) => ({
    ...each,
    route: closed(each.route, missing),
  }));
}
