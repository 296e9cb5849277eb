import { expandBackend } from "./expand_backend.ts";
import { expandGateway } from "./expand_gateway.ts";
import { expandInlinePolicy, expandPolicy } from "./expand_policy.ts";
import { expandRoute, type GatewayName } from "./expand_route.ts";
import { expandUi } from "./expand_ui.ts";
import type { Placed } from "../placed.ts";
import { listOf, type ShortDocument } from "./short_document.ts";

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
    backends.flatMap(expandBackend)
  );
  const placed = [...own, ...backends];
  for (const { item, name } of routes) {
    placed.push(...expandRoute(item, name, names));
    yield;
  }
  return [
    ...placed,
    ...shorts.flatMap(({ invalidRoutes }, number) =>
      invalidRoutes.flatMap((item) =>
        expandInlinePolicy(item, `${number}/${item.path.join("/")}`)
      )
    ),
    ...shorts.flatMap(({ policies }) => policies.map(expandPolicy)),
    ...shorts.flatMap(({ ui }) => ui.flatMap((item) => expandUi(item, names))),
  ];
}
