import { addressesOverlap } from "../base/wire/bind_address.ts";
import { parseAddress } from "../api/schema/address.ts";
import {
  bindAddressesOf,
  type Gateway,
  type Listener,
} from "../api/resources/gateway_resource.ts";
import type { Settings } from "../api/settings.ts";
import type { Diagnostic, Location } from "./diagnostics/located_diagnostic.ts";
import {
  diagnose,
  isGenerated,
  originalPath,
  type Placed,
  placedKey,
} from "./short_form/placed.ts";

/**
 * Checks resources and settings against each other, in steps: duplicate names, port conflicts.
 * @param unread Settings that are invalid.
 */
export function* checkConsistency(
  placed: readonly Placed[],
  settings: Settings,
  unread: ReadonlySet<string>,
): Generator<void, readonly Diagnostic[]> {
  const gateways = placed.filter(isGateway);
  return [
    ...yield* duplicateNames(placed),
    ...portConflicts(gateways),
    ...(["adminAddr", "statsAddr"] as const).flatMap((field) =>
      unread.has(field)
        ? []
        : gateways.flatMap((each) =>
          reservedPorts(each, field, settings[field])
        )
    ),
  ];
}

/** Reports listeners on the port of the admin or stats server. */
function reservedPorts(
  gateway: Placed<Gateway>,
  field: "adminAddr" | "statsAddr",
  address: string,
): readonly Diagnostic[] {
  const reserved = parseAddress(address);
  if (reserved?.kind !== "tcp") return [];
  return gateway.resource.spec.listeners.flatMap((listener, index) =>
    listener.port !== reserved.port ||
      !bindAddressesOf(gateway.resource, listener).some((address) =>
        reserved.hosts.some((host) => addressesOverlap(address, host))
      )
      ? []
      : [diagnose(gateway, {
        path: ["spec", "listeners", index, "port"],
        at: "value",
        message:
          `port ${reserved.port} is already used by config.${field} (${address}); change one of them`,
      })]
  );
}

function isGateway(placed: Placed): placed is Placed<Gateway> {
  return placed.resource.kind === "Gateway";
}

function* duplicateNames(
  placed: readonly Placed[],
): Generator<void, readonly Diagnostic[]> {
  const first = new Map<string, Placed>();
  const diagnostics: Diagnostic[] = [];
  for (const item of placed) {
    yield;
    if (isGenerated(item.resource)) continue;
    const key = placedKey(item);
    const other = first.get(key);
    if (other === undefined) {
      first.set(key, item);
      continue;
    }
    const { kind, metadata } = item.resource;
    const message = `duplicate ${kind} "${metadata.name}", first defined at ${
      formatLocation(locate(other, ["metadata", "name"]))
    }: rename one of them`;
    diagnostics.push(
      diagnose(item, { path: ["metadata", "name"], at: "value", message }),
    );
  }
  return diagnostics;
}

interface PlacedListener {
  readonly gateway: Placed<Gateway>;
  readonly listener: Listener;
  readonly index: number;
}

function portConflicts(
  gateways: readonly Placed<Gateway>[],
): readonly Diagnostic[] {
  const seen: PlacedListener[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const gateway of gateways) {
    for (const [index, listener] of gateway.resource.spec.listeners.entries()) {
      const current = { gateway, listener, index };
      const conflict = seen.find((other) => conflicts(other, current));
      if (conflict !== undefined) {
        diagnostics.push(conflictDiagnostic(current, conflict));
      } else seen.push(current);
    }
  }
  return diagnostics;
}

/** Listeners of overlapping, but different addresses are compared when the gateway's sockets are compiled. */
function conflicts(one: PlacedListener, other: PlacedListener): boolean {
  const [a, b] = [one.listener, other.listener];
  if (a.port !== b.port) return false;
  const addresses = new Set(bindAddressesOf(one.gateway.resource, a));
  const shared = bindAddressesOf(other.gateway.resource, b);
  if (!shared.some((address) => addresses.has(address))) return false;
  return a.protocol !== b.protocol || (a.hostname ?? "") === (b.hostname ?? "");
}

function conflictDiagnostic(
  current: PlacedListener,
  other: PlacedListener,
): Diagnostic {
  const { port, protocol, hostname } = other.listener;
  const use = current.listener.protocol !== protocol
    ? `with protocol ${protocol}`
    : hostname === undefined
    ? "for every hostname"
    : `for hostname ${hostname}`;
  const path = ["spec", "listeners", other.index, "port"];
  return diagnose(current.gateway, {
    path: ["spec", "listeners", current.index, "port"],
    at: "value",
    message:
      `port ${port} is already used ${use} by gateway "${other.gateway.resource.metadata.name}" at ${
        formatLocation(locate(other.gateway, path))
      }`,
  });
}

function locate(placed: Placed, path: readonly (string | number)[]): Location {
  return placed.document.locate(originalPath(placed.origins, path));
}

function formatLocation({ file, line, column }: Location): string {
  return `${file}:${line}:${column}`;
}

/** Lints: valid but probably unintended, such as a gateway without routes or a path that ends in a wildcard. */
export function lint(
  placed: readonly Placed[],
): readonly Diagnostic[] {
  return [...withoutRoutes(placed), ...placed.flatMap(wildcards)];
}

/** Reports a gateway without routes and policies; policies can respond without a route. */
function withoutRoutes(placed: readonly Placed[]): readonly Diagnostic[] {
  const canRespond = placed.some(({ resource: { kind } }) =>
    kind === "HTTPRoute" || kind === "GatewayPolicy"
  );
  const gateway = placed.find(({ resource }) => resource.kind === "Gateway");
  if (canRespond || gateway === undefined) return [];
  const message =
    'no routes are configured, so every request gets 404; add "routes"';
  return [warning(gateway, [], message)];
}

function wildcards(item: Placed): readonly Diagnostic[] {
  if (item.resource.kind !== "HTTPRoute") return [];
  return item.resource.spec.rules.flatMap(({ matches }, rule) =>
    (matches ?? []).flatMap(({ path }, match) => {
      if (path?.type === "RegularExpression") return [];
      const [, prefix] = /^(.*)\/\*+$/.exec(path?.value ?? "") ?? [];
      if (prefix === undefined) return [];
      const at = ["spec", "rules", rule, "matches", match, "path", "value"];
      const message =
        `"*" in a path is not a wildcard; to match all paths below, write { type: PathPrefix, value: ${
          prefix || "/"
        } }`;
      return [warning(item, at, message)];
    })
  );
}

function warning(
  item: Placed,
  path: readonly (string | number)[],
  message: string,
): Diagnostic {
  const at = path.length === 0 ? "key" : "value";
  return { ...diagnose(item, { path, at, message }), severity: "warning" };
}
