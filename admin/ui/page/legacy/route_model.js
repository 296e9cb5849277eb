/** Converts `/config_dump` to columns of items and the chains that connect them. */

/** Columns in processing order of a request. */
export const columns = [
  { name: "gateways", title: "Gateways" },
  { name: "listeners", title: "Listeners" },
  { name: "routes", title: "Routes" },
  { name: "policies", title: "Policies" },
  { name: "backends", title: "Backends" },
];

/**
 * Returns the items of each column, `{ id, column, title, subtitle, detail }`, and the chains: each is the path through one
 * route, as a list of ids per column.
 */
export function readModel({ listeners, routes, backends, policies }) {
  const items = new Map();
  const add = (item) => {
    if (!items.has(item.id)) items.set(item.id, item);
    return item.id;
  };
  for (const backend of backends) add(backendItem(backend));
  const policiesByKey = new Map(policies.map((policy) => [policy.key, policy]));
  const policyIds = (entries) =>
    entries.map((policy) => add(policyItem(policy, policiesByKey)));
  const byKey = new Map();
  const chains = [];
  for (const listener of listeners) {
    const chain = {
      gateways: [add(gatewayItem(listener, listeners))],
      listeners: [add(listenerItem(listener))],
      policies: policyIds(listener.policies),
    };
    byKey.set(listener.key, chain);
    chains.push({ ...chain, routes: [], backends: [] });
  }
  for (const route of routes) {
    const chain = byKey.get(route.listener);
    chains.push({
      ...chain,
      routes: [add(routeItem(route))],
      policies: [...chain.policies, ...policyIds(route.policies)],
      backends: route.backends.map((use) => add(backendUseItem(use, route))),
    });
  }
  const byColumn = Object.fromEntries(
    columns.map(({ name }) => [
      name,
      [...items.values()].filter(({ column }) => column === name),
    ]),
  );
  return { items, byColumn, chains, index: indexChains(chains) };
}

function indexChains(chains) {
  const index = new Map();
  for (const chain of chains) {
    for (const id of idsOf(chain)) {
      const known = index.get(id);
      if (known === undefined) index.set(id, [chain]);
      else known.push(chain);
    }
  }
  return index;
}

/** Returns all ids of a chain. */
function idsOf(chain) {
  return columns.flatMap(({ name }) => chain[name]);
}

/** Returns the ids of all related items, including the given one. */
export function relatedTo({ index }, id) {
  return new Set([id, ...(index.get(id) ?? []).flatMap(idsOf)]);
}

/** Reports whether the visible text of an item contains the lower-case filter. */
export function matchesFilter({ title, subtitle }, filter) {
  return `${title} ${subtitle}`.toLowerCase().includes(filter);
}

function gatewayItem({ gatewayNamespace, gatewayName }, listeners) {
  const own = listeners.filter((listener) =>
    listener.gatewayName === gatewayName &&
    listener.gatewayNamespace === gatewayNamespace
  );
  const ports = [...new Set(own.map(({ port }) => port))].join(", ");
  return {
    id: `gateway ${gatewayNamespace}/${gatewayName}`,
    column: "gateways",
    title: gatewayName,
    subtitle: `${gatewayNamespace}, port ${ports}`,
    detail: own.map(({ routes, ...rest }) => ({
      ...rest,
      routes: routes.length,
    })),
  };
}

function listenerItem({ routes, ...listener }) {
  const { key, listenerName, hostname, port, protocol } = listener;
  return {
    id: `listener ${key}`,
    column: "listeners",
    title: listenerName,
    subtitle: `${protocol} ${hostname}:${port}`,
    detail: { ...listener, routes: routes.length },
  };
}

function routeItem(route) {
  return {
    id: `route ${route.key}`,
    column: "routes",
    title: route.ruleName ? `${route.name} / ${route.ruleName}` : route.name,
    subtitle: route.matches.map(describeMatch).join(", "),
    detail: route,
  };
}

function describeMatch({ path, method, headers, queryParams }) {
  const more = (headers?.length ?? 0) + (queryParams?.length ?? 0);
  return [
    method,
    path.type === "PathPrefix" ? `${path.value}…` : path.value,
    more > 0 && `+${more}`,
  ].filter(Boolean).join(" ");
}

function policyItem({ kind, source, config }, policiesByKey) {
  // The key of `GatewayPolicy/default/name` is `default/name`.
  const key = source.replace(/^[^/]*\//, "");
  return {
    id: `policy ${kind} ${source}`,
    column: "policies",
    title: kind,
    subtitle: source,
    detail: { config, policy: policiesByKey.get(key) },
  };
}

function backendItem(backend) {
  return {
    id: `backend ${backend.key}`,
    column: "backends",
    title: backend.name,
    subtitle: backend.tls ? `${backend.target} TLS` : backend.target,
    detail: backend,
  };
}

/** Returns the backend, or the problem with it. */
function backendUseItem({ backend, problem }, { key }) {
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
      subtitle: problem ?? "",
      detail: { problem },
      isBroken: true,
    };
}
