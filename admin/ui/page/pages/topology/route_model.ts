/** Converts the outline of the configuration to columns of items and the chains that connect them. */

import type {
  ShownBackend,
  ShownConfiguration,
  ShownListener,
  ShownPolicy,
  ShownRoute,
} from "../../../responses.ts";

/** Columns in processing order of a request. */
export const columns = [
  { name: "gateways", title: "Gateways" },
  { name: "listeners", title: "Listeners" },
  { name: "routes", title: "Routes" },
  { name: "policies", title: "Policies" },
  { name: "backends", title: "Backends" },
] as const;

/** Name of a column. */
export type ColumnName = typeof columns[number]["name"];

/** Something that the page shows. */
export interface Item {
  readonly id: string;
  readonly column: ColumnName;
  readonly title: string;
  readonly subtitle: string;
  /** Shown as JSON, unless `part` says where it comes from. */
  readonly detail?: unknown;
  /** Names the part of the configuration with the details. */
  readonly part?: Readonly<Record<string, string>>;
  /** Name of a problem, such as `not found` or `ejected`. */
  readonly problem?: string;
  /** First path of a route. */
  readonly path?: ShownRoute["matches"][number]["path"];
  /** Policies in force for a listener, also for its routes, in the order of processing. */
  readonly policies?: readonly ShownPolicy[];
}

/** The path through one route: ids per column. */
export type Chain = Readonly<Record<ColumnName, readonly string[]>>;

/** Everything that the page shows. */
export interface Model {
  readonly items: ReadonlyMap<string, Item>;
  readonly byColumn: Readonly<Record<ColumnName, readonly Item[]>>;
  readonly chains: readonly Chain[];
  /** Chains by the ids of their items. */
  readonly index: ReadonlyMap<string, readonly Chain[]>;
}

type Match = ShownRoute["matches"][number];
type BackendUse = ShownRoute["backends"][number];

/** Routes to read in a slice, which takes less than a millisecond. */
const SLICE = 50;

/** Reads the model; awaits `pause` between slices, in which the page may draw a frame. */
export async function readModel(
  dump: ShownConfiguration,
  pause: () => Promise<void>,
): Promise<Model> {
  const items = new Map<string, Item>();
  const add = (item: Item) => {
    if (!items.has(item.id)) items.set(item.id, item);
    return item.id;
  };
  for (const item of backendItems(dump)) add(item);
  const byGateway = Map.groupBy(dump.listeners, gatewayOf);
  const heads: Chain[] = [];
  for (const listener of dump.listeners) {
    const chain: Chain = {
      gateways: [
        add(gatewayItem(listener, byGateway.get(gatewayOf(listener)) ?? [])),
      ],
      listeners: [add(listenerItem(listener))],
      routes: [],
      policies: listener.policies.map(({ kind, source }) =>
        add(policyItem(kind, source))
      ),
      backends: [],
    };
    heads.push(chain);
  }
  const chains = [...heads];
  for (const [index, route] of dump.routes.entries()) {
    if (index % SLICE === SLICE - 1) await pause();
    const head = heads[route.listener];
    if (head === undefined) continue;
    const { policies = [] } = dump.listeners[route.listener] ?? {};
    const own = route.policies.flatMap(({ source, kinds }) =>
      kinds.map((kind) => add(policyItem(kind, source)))
    );
    chains.push({
      ...head,
      routes: [add(routeItem(route, policies))],
      policies: [...head.policies, ...own],
      backends: route.backends.map((use) => add(backendUseItem(use, route))),
    });
  }
  await pause();
  const index = await indexChains(chains, pause);
  return { items, byColumn: divide([...items.values()]), chains, index };
}

function backendItems(
  { backends, endpoints = [] }: ShownConfiguration,
): Item[] {
  const uses = endpoints.flatMap((endpoint) =>
    endpoint.backends.map((key) => ({ key, endpoint }))
  );
  const byKey = Map.groupBy(uses, ({ key }) => key);
  return backends.map((backend) => {
    const own = byKey.get(backend.key) ?? [];
    return backendItem(backend, own.map(({ endpoint }) => endpoint));
  });
}

/** Divides items among the columns. */
export function divide(items: readonly Item[]): Model["byColumn"] {
  const all = Map.groupBy(items, ({ column }) => column);
  const inColumn = (name: ColumnName) => all.get(name) ?? [];
  return {
    gateways: inColumn("gateways"),
    listeners: inColumn("listeners"),
    routes: inColumn("routes"),
    policies: inColumn("policies"),
    backends: inColumn("backends"),
  };
}

async function indexChains(
  chains: readonly Chain[],
  pause: () => Promise<void>,
): Promise<Map<string, Chain[]>> {
  const index = new Map<string, Chain[]>();
  for (const [at, chain] of chains.entries()) {
    if (at % SLICE === SLICE - 1) await pause();
    for (const id of idsOf(chain)) {
      const known = index.get(id);
      if (known === undefined) index.set(id, [chain]);
      else known.push(chain);
    }
  }
  return index;
}

/** Returns all ids of a chain. */
export function idsOf(chain: Chain): string[] {
  return columns.flatMap(({ name }) => chain[name]);
}

/** Returns the ids of all related items, including the given one. */
export function relatedTo({ index }: Model, id: string): Set<string> {
  return new Set([id, ...(index.get(id) ?? []).flatMap(idsOf)]);
}

/** Reports whether the visible text of an item contains the lower-case filter. */
export function matchesFilter(
  { title, subtitle }: Pick<Item, "title" | "subtitle">,
  filter: string,
): boolean {
  return `${title} ${subtitle}`.toLowerCase().includes(filter);
}

/** Returns the chains of the selected item, or all, that contain an item that matches the filter. */
export function chainsShown(
  { chains, index, items }: Model,
  selected: string | undefined,
  filter: string,
): readonly Chain[] {
  const candidates = selected === undefined
    ? chains
    : index.get(selected) ?? [];
  if (filter === "") return candidates;
  const matching = new Set<string>();
  for (const [id, item] of items) {
    if (matchesFilter(item, filter)) matching.add(id);
  }
  return candidates.filter((chain) =>
    idsOf(chain).some((id) => matching.has(id))
  );
}

function gatewayOf({ gatewayNamespace, gatewayName }: ShownListener): string {
  return `${gatewayNamespace}/${gatewayName}`;
}

function gatewayItem(
  listener: ShownListener,
  own: readonly ShownListener[],
): Item {
  const ports = [...new Set(own.map(({ port }) => port))].join(", ");
  return {
    id: `gateway ${gatewayOf(listener)}`,
    column: "gateways",
    title: listener.gatewayName,
    subtitle: `${listener.gatewayNamespace}, port ${ports}`,
    detail: own,
  };
}

function listenerItem(listener: ShownListener): Item {
  const { key, listenerName, hostname, port, protocol, policies } = listener;
  return {
    id: `listener ${key}`,
    column: "listeners",
    title: listenerName,
    subtitle: `${protocol} ${hostname}:${port}`,
    detail: listener,
    policies,
  };
}

function routeItem(route: ShownRoute, policies: readonly ShownPolicy[]): Item {
  const path = route.matches[0]?.path;
  return {
    id: `route ${route.key}`,
    column: "routes",
    title: route.ruleName ? `${route.name} / ${route.ruleName}` : route.name,
    subtitle: route.matches.map(describeMatch).join(", "),
    part: { route: route.key },
    policies,
    ...(path !== undefined && { path }),
  };
}

function describeMatch({ path, method, headers, queryParams }: Match): string {
  const more = (headers?.length ?? 0) + (queryParams?.length ?? 0);
  return [
    method,
    path.type === "PathPrefix"
      ? `${path.value.replace(/\/$/, "")}/*`
      : path.value,
    more > 0 && `+${more}`,
  ].filter(Boolean).join(" ");
}

function policyItem(kind: string, source: string): Item {
  return {
    id: `policy ${kind} ${source}`,
    column: "policies",
    title: kind,
    subtitle: source,
    part: { kind, source },
  };
}

function backendItem(
  backend: ShownBackend,
  endpoints: NonNullable<ShownConfiguration["endpoints"]>,
): Item {
  const { target = "" } = backend;
  return {
    id: `backend ${backend.key}`,
    column: "backends",
    title: backend.name,
    subtitle: backend.tls ? `${target} TLS` : target,
    detail: { ...backend, endpoints },
  };
}

/** Returns the backend, or the problem with it. */
function backendUseItem(
  { backend, problem = "" }: BackendUse,
  { key }: ShownRoute,
): Item {
  return backend !== undefined
    ? {
      id: `backend ${backend}`,
      column: "backends",
      title: backend,
      subtitle: "",
      detail: {},
    }
    : {
      id: `backend of ${key}: ${problem}`,
      column: "backends",
      title: "not found",
      subtitle: problem,
      detail: { problem },
      problem: "not found",
    };
}
