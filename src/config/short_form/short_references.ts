import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Suggest } from "../../api/schema/suggest.ts";
import type { Path } from "../../api/schema/validate.ts";
import { UI_ROUTE_NAME } from "./expand_route.ts";
import type { ShortItem } from "./placed.ts";
import {
  isKubernetes,
  listOf,
  mappingOf,
  type Report,
  type ShortDocument,
} from "./short_document.ts";
import type { ShortRoute } from "./short_form.ts";

/** Names that references in the short form may resolve to. */
export interface DeclaredNames {
  readonly gateways: ReadonlySet<string>;
  readonly "listener sets": ReadonlySet<string>;
  readonly backends: ReadonlySet<string>;
  readonly routes: ReadonlySet<string>;
}

/** Collects names, including those of invalid items, so that one mistake is reported once. */
export function declaredNames(
  documents: readonly JsonObject[],
): DeclaredNames {
  const kubernetes = documents.filter(isKubernetes).flatMap((value) =>
    value["kind"] === "List"
      ? listOf(value, "items").filter(isJsonObject)
      : [value]
  );
  const short = documents.filter((value) => !isKubernetes(value));
  const ofKind = (kind: string) =>
    kubernetes.filter((value) => value["kind"] === kind)
      .map((value) => nameOf(mappingOf(value, "metadata")));
  const routes = short.flatMap((value) => listOf(value, "routes"));
  return {
    gateways: new Set([
      ...ofKind("Gateway"),
      ...short.flatMap((value) => Object.keys(mappingOf(value, "gateways"))),
    ]),
    "listener sets": new Set(ofKind("ListenerSet")),
    backends: new Set([
      ...ofKind("GatewayBackend"),
      ...short.flatMap((value) => listOf(value, "backends").map(nameOf)),
    ]),
    routes: new Set([
      ...ofKind("HTTPRoute"),
      ...ofKind("GRPCRoute"),
      ...routes.map((item, index) => nameOf(item) || `route${index}`),
      ...short.flatMap((value) =>
        Object.hasOwn(value, "ui") ? [UI_ROUTE_NAME] : []
      ),
    ]),
  };
}

function nameOf(value: unknown): string {
  const name = isJsonObject(value) ? value["name"] : undefined;
  return typeof name === "string" ? name : "";
}

/** Reports unresolved references of the short form to gateways, backends and routes. */
export function checkReferences(
  { routes, policies, ui }: ShortDocument,
  { declared, suggest }: {
    readonly declared: DeclaredNames;
    readonly suggest: Suggest;
  },
  report: Report,
): void {
  const check = (kind: keyof DeclaredNames, name: string, path: Path) => {
    if (declared[kind].has(name)) return;
    const suggestion = suggest(name, () => [...declared[kind]]);
    report(path, {
      at: "value",
      message: `${kind.slice(0, -1)} ${JSON.stringify(name)} does not exist`,
      ...(suggestion !== undefined && { suggestion }),
    });
  };
  for (const route of routes) checkRoute(route, check);
  for (const { value, path } of ui) {
    for (const [index, name] of value.gateways.entries()) {
      check("gateways", name, [...path, "gateways", index]);
    }
  }
  for (const { value, path } of policies) {
    for (const [index, target] of value.targetRefs.entries()) {
      check(targetKinds[target.kind], target.name, [
        ...path,
        "targetRefs",
        index,
        "name",
      ]);
    }
  }
}

const targetKinds = {
  Gateway: "gateways",
  ListenerSet: "listener sets",
  GRPCRoute: "routes",
  HTTPRoute: "routes",
  GatewayBackend: "backends",
} as const;

type Check = (kind: keyof DeclaredNames, name: string, path: Path) => void;

function checkRoute(
  { value, path }: ShortItem<ShortRoute>,
  check: Check,
): void {
  for (const [index, name] of (value.gateways ?? []).entries()) {
    check("gateways", name, [...path, "gateways", index]);
  }
  for (const [index, { backend }] of (value.backends ?? []).entries()) {
    if (backend !== undefined) {
      check("backends", backend, [...path, "backends", index, "backend"]);
    }
  }
  for (const [index, filter] of (value.filters ?? []).entries()) {
    if (filter.type !== "RequestMirror") continue;
    const { kind, name } = filter.requestMirror.backendRef;
    const at = [
      ...path,
      "filters",
      index,
      "requestMirror",
      "backendRef",
      "name",
    ];
    if (kind === "GatewayBackend") check("backends", name, at);
  }
}
