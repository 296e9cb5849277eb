import { splitHostPort } from "../../base/wire/host_port.ts";
import {
  type GatewayPolicy,
  INLINE_ANNOTATION,
} from "../../api/resources/gateway_policy_schema.ts";
import {
  GATEWAY_API_GROUP,
  gatewayApiVersion,
  POLICY_API_GROUP,
  policyApiVersion,
  WEB_UI_KIND,
} from "../../api/schema/group.ts";
import {
  backendKind,
  DEFAULT_NAMESPACE,
  generatedName,
  type Origin,
  type Placed,
  type ShortItem,
} from "./placed.ts";
import type { ShortPolicy, ShortRoute, ShortUi } from "./short_form.ts";
import type {
  BackendRef,
  HttpRouteResource,
  ParentRef,
} from "../../api/resources/http_route.ts";
import { type HttpMatch, modelCondition } from "../../api/rules/http_match.ts";
import type { Path } from "../../api/schema/validate.ts";
import { createBackend } from "./expand_backend.ts";

/** Expands `policies[]` to a `GatewayPolicy`. */
export function expandPolicy(
  { value, path, document }: ShortItem<ShortPolicy>,
): Placed<GatewayPolicy> {
  const { name, ...spec } = value;
  return {
    document,
    resource: {
      apiVersion: policyApiVersion,
      kind: "GatewayPolicy",
      metadata: { name, namespace: DEFAULT_NAMESPACE },
      spec,
    },
    origins: [{ at: [], from: path, whole: true }, {
      at: ["spec"],
      from: path,
    }],
  };
}

/** Expands `routes[].policies` to a `GatewayPolicy`. */
function expandInlinePolicy(
  { value: { policies }, path, document }: ShortItem<ShortRoute>,
  name: string,
): readonly Placed<GatewayPolicy>[] {
  if (policies === undefined) return [];
  return [{
    document,
    resource: {
      apiVersion: policyApiVersion,
      kind: "GatewayPolicy",
      metadata: {
        name: generatedName(name, "policies"),
        namespace: DEFAULT_NAMESPACE,
        annotations: { [INLINE_ANNOTATION]: "true" },
      },
      spec: {
        targetRefs: [{ group: GATEWAY_API_GROUP, kind: "HTTPRoute", name }],
        traffic: policies,
      },
    },
    origins: [
      { at: [], from: [...path, "policies"], whole: true },
      { at: ["spec", "traffic"], from: [...path, "policies"] },
    ],
  }];
}

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
  return [createRoute(item, name, gateways), ...expandInlineParts(item, name)];
}

/** Expands the backends and the policy that are part of a route. */
export function expandInlineParts(
  item: ShortItem<ShortRoute>,
  name: string,
): readonly Placed[] {
  const backends = item.value.backends ?? [];
  return [
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
        inlineKinds.find((kind) => item[kind] !== undefined) ?? "backend",
      ],
    })),
  ];
}

const inlineKinds = ["host", "llm", "mcp"] as const;

function expandRouteBackend(
  { value, path, document }: ShortItem<ShortRoute>,
  name: string,
  index: number,
): readonly Placed[] {
  const item = value.backends?.[index];
  const target = item?.host === undefined
    ? undefined
    : splitHostPort(item.host);
  const spec = item?.llm !== undefined
    ? { llm: item.llm }
    : item?.mcp !== undefined
    ? { mcp: item.mcp }
    : target && { static: target };
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

/** Name of the route that `ui` expands to. */
export const UI_ROUTE_NAME = "ui";

/** Expands `ui` to an `HTTPRoute` with its inline policy. */
export function expandUi(
  { value: { access, ...choice }, path, document }: ShortItem<ShortUi>,
  gateways: readonly GatewayName[],
): readonly Placed[] {
  const route: ShortRoute = {
    ...choice,
    matches: [{ path: { type: "PathPrefix", value: "/ui" } }],
  };
  const webUi = {
    group: POLICY_API_GROUP,
    kind: WEB_UI_KIND,
    name: access === "ReadWrite" ? "read-write" : "read-only",
    weight: 1,
  };
  return expandRoute({ value: route, path, document }, UI_ROUTE_NAME, gateways)
    .map((item): Placed => {
      const { resource } = item;
      if (resource.kind !== "HTTPRoute") return item;
      const rules = resource.spec.rules.map((rule) => ({
        ...rule,
        backendRefs: [webUi],
      }));
      return {
        ...item,
        resource: { ...resource, spec: { ...resource.spec, rules } },
        origins: item.origins.map((origin) => ({
          ...origin,
          // The rule is generated, so its problems are reported for the section.
          ...(origin.at.at(-2) === "rules" && { whole: true }),
        })),
      };
    });
}
