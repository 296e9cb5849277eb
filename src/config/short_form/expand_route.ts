import { splitHostPort } from "../../base/wire/host_port.ts";
import {
  GATEWAY_API_GROUP,
  gatewayApiVersion,
} from "../../api/resources/group.ts";
import type {
  BackendRef,
  HttpRouteResource,
  ParentRef,
} from "../../api/resources/http_route.ts";
import {
  type HttpMatch,
  modelCondition,
} from "../../api/resources/http_match.ts";
import type { Path } from "../../api/schema/validate.ts";
import { createBackend } from "./expand_backend.ts";
import { expandInlinePolicy } from "./expand_policy.ts";
import {
  backendKind,
  DEFAULT_NAMESPACE,
  generatedName,
  type Origin,
  type Placed,
  type ShortItem,
} from "../placed.ts";
import type { ShortRoute } from "./short_form.ts";

/** Identity of a gateway that routes can attach to. */
export interface GatewayName {
  readonly name: string;
  readonly namespace: string;
}

/** Expands `routes[]` to an `HTTPRoute` with its inline backends and policy. */
export function expandRoute(
  item: ShortItem<ShortRoute>,
  name: string,
  gateways: readonly GatewayName[],
): readonly Placed[] {
  const backends = item.value.backends ?? [];
  return [
    createRoute(item, name, gateways),
    ...backends.flatMap((_, index) => expandRouteBackend(item, name, index)),
    ...expandInlinePolicy(item, name),
  ];
}

function createRoute(
  { value, path, document }: ShortItem<ShortRoute>,
  name: string,
  gateways: readonly GatewayName[],
): Placed<HttpRouteResource> {
  const {
    name: _,
    gateways: gatewayNames,
    hostnames,
    backends,
    policies: __,
    ...rule
  } = value;
  const parents = gatewayNames?.map((parent) =>
    gateways.find((gateway) => gateway.name === parent) ??
      { name: parent, namespace: DEFAULT_NAMESPACE }
  );
  const backendRefs = backends?.map((item, index): BackendRef => ({
    ...backendKind,
    name: item.backend ?? generatedName(name, `backend${index}`),
    weight: item.weight,
    ...(item.priority !== undefined && { priority: item.priority }),
    ...(item.filters !== undefined && { filters: item.filters }),
  }));
  return {
    document,
    resource: {
      apiVersion: gatewayApiVersion,
      kind: "HTTPRoute",
      metadata: { name, namespace: DEFAULT_NAMESPACE },
      spec: {
        parentRefs: (parents ?? gateways).map(parentRefOf),
        ...(hostnames !== undefined && { hostnames }),
        rules: [{
          ...rule,
          matches: rule.matches.map(expandMatch),
          ...(backendRefs !== undefined && { backendRefs }),
        }],
      },
    },
    origins: routeOrigins(value, path),
  };
}

function expandMatch(
  { model, ...match }: ShortRoute["matches"][number],
): HttpMatch {
  return model === undefined
    ? match
    : { ...match, headers: [...match.headers ?? [], modelCondition(model)] };
}

function parentRefOf(gateway: GatewayName): ParentRef {
  return {
    group: GATEWAY_API_GROUP,
    kind: "Gateway",
    name: gateway.name,
    ...(gateway.namespace !== DEFAULT_NAMESPACE &&
      { namespace: gateway.namespace }),
  };
}

function routeOrigins(
  { backends, gateways, matches }: ShortRoute,
  path: Path,
): readonly Origin[] {
  const rule = ["spec", "rules", 0];
  return [
    { at: [], from: path, whole: true },
    { at: ["metadata", "name"], from: [...path, "name"] },
    { at: ["spec", "parentRefs"], from: [...path, "gateways"], whole: true },
    ...(gateways ?? []).map((_, index) => ({
      at: ["spec", "parentRefs", index],
      from: [...path, "gateways", index],
      whole: true,
    })),
    { at: ["spec", "hostnames"], from: [...path, "hostnames"] },
    { at: rule, from: path },
    ...matches.flatMap(({ model, headers = [] }, index) =>
      model === undefined ? [] : [{
        at: [...rule, "matches", index, "headers", headers.length],
        from: [...path, "matches", index, "model"],
        whole: true,
      }]
    ),
    { at: [...rule, "backendRefs"], from: [...path, "backends"] },
    ...(backends ?? []).map((item, index) => ({
      at: [...rule, "backendRefs", index, "name"],
      from: [
        ...path,
        "backends",
        index,
        item.host !== undefined ? "host" : item.llm ? "llm" : "backend",
      ],
    })),
  ];
}

function expandRouteBackend(
  { value, path, document }: ShortItem<ShortRoute>,
  name: string,
  index: number,
): readonly Placed[] {
  const item = value.backends?.[index];
  const target = item?.host === undefined
    ? undefined
    : splitHostPort(item.host);
  const spec = item?.llm === undefined
    ? target && { static: target }
    : { llm: item.llm };
  if (spec === undefined) return [];
  const from = [...path, "backends", index];
  const parts = { name: generatedName(name, `backend${index}`), spec };
  const backend = createBackend({
    ...parts,
    tls: item?.tls,
    document,
    specPath: from,
  });
  if (target === undefined) return backend;
  return backend.map((placed) => ({
    ...placed,
    origins: [...placed.origins, {
      at: ["spec", "static"],
      from: [...from, "host"],
      whole: true,
    }],
  }));
}
