import { expandBackend } from "./expand_backend.ts";
import {
  expandInlineParts,
  expandPolicy,
  expandRoute,
  expandUi,
  type GatewayName,
} from "./expand_route.ts";
import {
  DEFAULT_NAMESPACE,
  type Origin,
  type Placed,
  type ShortItem,
} from "./placed.ts";
import { listOf, type ShortDocument } from "./short_document.ts";
import type {
  Gateway,
  Listener,
} from "../../api/resources/gateway_resource.ts";
import { gatewayApiVersion } from "../../api/schema/group.ts";
import type { Path } from "../../api/schema/validate.ts";
import type { ShortGateway, ShortListenerTls } from "./short_form.ts";

/** Expands all documents in the short form to resources, in steps; `kubernetes` are the resources of other documents. */
export function* expandAll(
  shorts: readonly ShortDocument[],
  kubernetes: readonly Placed[],
): Generator<void, readonly Placed[]> {
  const own = shorts.flatMap(({ gateways }) => gateways.map(expandGateway));
  const names: GatewayName[] = [...own, ...kubernetes]
    .filter(({ resource }) => resource.kind === "Gateway")
    .map(({ resource }) => resource.metadata);
  // Unnamed routes are numbered across all documents.
  let routeCount = 0;
  const routes = shorts.flatMap(({ routes, value }) => {
    const before = routeCount;
    routeCount += listOf(value, "routes").length;
    return routes.map((item) => ({
      item,
      name: item.value.name ?? `route${before + Number(item.path[1])}`,
    }));
  });
  const backends = shorts.flatMap(({ backends }) =>
    backends.flatMap((item) => partsOf(item, expandBackend(item)))
  );
  const placed = [...own, ...backends];
  for (const { item, name } of routes) {
    // Without all its policies, a route is not what was meant: only its parts are checked.
    const parts = lacksPolicy(item.removed)
      ? expandInlineParts(item, name)
      : expandRoute(item, name, names);
    placed.push(...partsOf(item, parts));
    yield;
  }
  return [
    ...placed,
    ...shorts.flatMap(({ policies }) =>
      policies.flatMap((item) => partsOf(item, [expandPolicy(item)]))
    ),
    ...shorts.flatMap(({ ui }) => ui.flatMap((item) => expandUi(item, names))),
  ];
}

/** Marks the resources of an item that is not whole. */
function partsOf(
  { removed }: ShortItem<unknown>,
  placed: readonly Placed[],
): readonly Placed[] {
  return removed === undefined
    ? placed
    : placed.map((item) => ({ ...item, removed }));
}

/** Reports whether a whole policy may be among what was left out. @param removed Paths in a route, a policy, or a resource. */
export function lacksPolicy(removed: readonly Path[] = []): boolean {
  const holders = new Set<Path[number]>(["policies", "traffic", "targetRefs"]);
  return removed.some((path) => {
    const [first, ...rest] = path[0] === "spec" ? path.slice(1) : path;
    return first === undefined || (holders.has(first) && rest.length < 2);
  });
}

/** Expands `gateways.<name>` to a `Gateway`. */
function expandGateway(
  { value, path, document }: ShortItem<ShortGateway>,
): Placed<Gateway> {
  const name = String(path.at(-1));
  const { listeners, port, protocol = "HTTP", ...single } = value;
  const items = listeners ?? [{ name: "default", ...single }];
  const itemPath = (index: number) =>
    listeners === undefined ? path : [...path, "listeners", index];
  return {
    document,
    resource: {
      apiVersion: gatewayApiVersion,
      kind: "Gateway",
      metadata: { name, namespace: DEFAULT_NAMESPACE },
      spec: {
        listeners: items.map(({ name, tls, ...item }, index): Listener => ({
          // Validation guarantees that the gateway has a port if a listener has none.
          port: port ?? 0,
          protocol,
          ...item,
          name: name ?? `listener${index}`,
          ...(tls !== undefined && { tls: expandListenerTls(tls) }),
        })),
      },
    },
    origins: [
      { at: [], from: path, whole: true },
      ...items.flatMap((item, index) =>
        originsOf(item, index, { path, from: itemPath(index) })
      ),
    ],
  };
}

/** Returns the sources of a listener's parts, some of which may be fields of the gateway. */
function originsOf(
  item: Pick<ShortGateway, "port" | "protocol" | "tls">,
  index: number,
  { path, from }: { readonly path: Path; readonly from: Path },
): readonly Origin[] {
  const at = ["spec", "listeners", index];
  const origins: Origin[] = [{ at, from }];
  for (const field of ["port", "protocol"] as const) {
    if (Object.hasOwn(item, field)) continue;
    origins.push({ at: [...at, field], from: [...path, field] });
  }
  if (item.tls?.cert !== undefined) {
    origins.push({
      at: [...at, "tls", "certificates", 0],
      from: [...from, "tls"],
    });
  }
  return origins;
}

function expandListenerTls(
  { cert, key, certificates, ...tls }: ShortListenerTls,
) {
  return {
    ...tls,
    certificates: cert !== undefined && key !== undefined
      ? [{ cert, key }]
      : certificates ?? [],
  };
}
