import { parseAddress } from "../../api/schema/address.ts";
import type {
  Gateway,
  Listener,
} from "../../api/resources/gateway_resource.ts";
import type { Settings } from "../../api/settings.ts";
import type { Diagnostic, Location } from "./located_diagnostic.ts";
import {
  diagnose,
  isGenerated,
  originalPath,
  type Placed,
  placedKey,
} from "../placed.ts";

/** What is wrong with resources and settings taken together: names used twice, ports claimed twice. */
export function checkTogether(
  placed: readonly Placed[],
  settings: Settings,
): readonly Diagnostic[] {
  const gateways = placed.filter(isGateway);
  return [
    ...duplicateNames(placed),
    ...portConflicts(gateways),
    ...gateways.flatMap((gateway) => ownPorts(gateway, settings)),
    ...placed.flatMap(clusterReferences),
  ];
}

/** Ports that the admin interface or the metrics have already. */
function ownPorts(
  gateway: Placed<Gateway>,
  settings: Settings,
): readonly Diagnostic[] {
  return (["adminAddr", "statsAddr"] as const).flatMap((field) => {
    const own = parseAddress(settings[field]);
    if (own?.kind !== "tcp") return [];
    return gateway.resource.spec.listeners.flatMap((listener, index) =>
      listener.port !== own.port || !sharesAddress(listener, own.hosts)
        ? []
        : [diagnose(gateway, {
          path: ["spec", "listeners", index, "port"],
          at: "value",
          message: `port ${own.port} is also that of config.${field} (${
            settings[field]
          }); change one of the two`,
        })]
    );
  });
}

function sharesAddress(
  { address }: Listener,
  hosts: readonly string[],
): boolean {
  const everywhere = ["0.0.0.0", "::"];
  return address === undefined || everywhere.includes(address) ||
    (address === "localhost" && hosts.includes("127.0.0.1")) ||
    hosts.some((host) => host === address || everywhere.includes(host));
}

/** References to Secrets and ConfigMaps, which only a cluster has. */
function clusterReferences(placed: Placed): readonly Diagnostic[] {
  const { resource } = placed;
  if (resource.kind === "Gateway") {
    return resource.spec.listeners.flatMap(({ tls }, index) =>
      tls?.certificateRefs === undefined ? [] : [diagnose(placed, {
        path: ["spec", "listeners", index, "tls", "certificateRefs"],
        at: "key",
        message:
          'a file cannot refer to a Secret; use "certificates" with "cert" and "key"',
      })]
    );
  }
  if (resource.kind !== "BackendTLSPolicy") return [];
  return (resource.spec.validation.caCertificateRefs ?? []).flatMap((
    { name },
    index,
  ) =>
    name === undefined ? [] : [diagnose(placed, {
      path: ["spec", "validation", "caCertificateRefs", index],
      at: "value",
      message: 'a file cannot refer to a ConfigMap; use "file" or "inline"',
    })]
  );
}

function isGateway(placed: Placed): placed is Placed<Gateway> {
  return placed.resource.kind === "Gateway";
}

function duplicateNames(placed: readonly Placed[]): readonly Diagnostic[] {
  const first = new Map<string, Placed>();
  return placed.filter(({ resource }) => !isGenerated(resource)).flatMap(
    (item) => {
      const key = placedKey(item);
      const other = first.get(key);
      if (other === undefined) {
        first.set(key, item);
        return [];
      }
      const { kind, metadata } = item.resource;
      const message = `another ${kind} named "${metadata.name}" is defined at ${
        formatLocation(locate(other, ["metadata", "name"]))
      }`;
      return [
        diagnose(item, { path: ["metadata", "name"], at: "value", message }),
      ];
    },
  );
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
      const conflict = seen.find((other) =>
        conflicts(other.listener, listener)
      );
      if (conflict !== undefined) {
        diagnostics.push(conflictDiagnostic(current, conflict));
      } else seen.push(current);
    }
  }
  return diagnostics;
}

function conflicts(a: Listener, b: Listener): boolean {
  if (a.port !== b.port || (a.address ?? "") !== (b.address ?? "")) {
    return false;
  }
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
