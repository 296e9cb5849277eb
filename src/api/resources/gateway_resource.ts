import { canonicalAddress } from "../../base/wire/bind_address.ts";
import { duration } from "../schema/duration.ts";
import { GATEWAY_API_GROUP, gatewayApiVersion } from "../schema/group.ts";
import { resource } from "./resource.ts";
import { hostname, isIpAddress, objectName, port } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";
import { gatewayTlsSchema, listenerTlsSchema } from "./gateway_tls.ts";

const stringMap = s.map(s.string(), s.string());

/** Kubernetes `LabelSelector`: all requirements hold; without any, everything is selected. */
const labelSelectorSchema = s.object({
  matchLabels: s.field(
    "Labels with exactly these values.",
    s.optional(stringMap),
  ),
  matchExpressions: s.field(
    "Requirements on labels.",
    s.optional(s.list(s.object({
      key: s.field("Name of the label.", s.string()),
      operator: s.field(
        "How the label relates to `values`.",
        s.oneOf(["In", "NotIn", "Exists", "DoesNotExist"]),
      ),
      values: s.field("Values of the label.", s.optional(s.array(s.string()))),
    }))),
  ),
});

/** Selects objects by their labels. */
export type LabelSelector = s.Infer<typeof labelSelectorSchema>;

/** Namespaces whose resources may attach. */
function allowedNamespaces(from: "Same" | "None") {
  return s.object({
    from: s.field(
      "`All`: any namespace. `Same`: that of the listener's resource. `Selector`: namespaces that `selector` selects. `None`: no namespace.",
      s.optional(s.oneOf(["All", "Same", "Selector", "None"])),
      from,
    ),
    selector: s.field(
      "Selects Namespaces by their labels, for `Selector`.",
      s.optional(labelSelectorSchema),
    ),
  });
}

/** Selects namespaces whose resources may attach. */
export type AllowedNamespaces = s.Infer<ReturnType<typeof allowedNamespaces>>;

const listenAddress = s.named(
  "IP address or `localhost`",
  s.checkedText(
    (text) => text === "localhost" || isIpAddress(text),
    'an IP address or "localhost"',
  ),
);

/** Fields of a listener, shared with the short file form. */
export const listenerEntries = {
  protocol: s.field(
    "Protocol of clients; `HTTPS` requires `tls`.",
    s.oneOf(["HTTP", "HTTPS"]),
  ),
  hostname: s.field(
    "Host to serve, such as `api.example.com` or `*.example.com`. Default: every host.",
    s.optional(hostname),
  ),
  address: s.field(
    "Address to listen on. Default: the addresses of the gateway, or all addresses.",
    s.optional(listenAddress),
  ),
  timeouts: s.field(
    "Time-outs of clients; `0s` means unlimited.",
    s.optional(s.object({
      requestHeaders: s.field(
        "Time limit to receive the request headers.",
        s.optional(duration),
        "15s",
      ),
      requestBody: s.field(
        "Time that a client may keep the gateway waiting for a request body; bytes at `minRequestBodyRate` make up for it.",
        s.optional(duration),
        "60s",
      ),
      idle: s.field(
        "Time limit between requests on a connection.",
        s.optional(duration),
        "75s",
      ),
      webSocket: s.field(
        "Time limit without data or pings on a WebSocket or another upgraded connection.",
        s.optional(duration),
        "5m",
      ),
    })),
  ),
  maxConnections: s.field(
    "Maximum number of connections; the gateway closes further ones.",
    s.optional(s.integer(1, 1_000_000)),
    10000,
  ),
  maxConnectionsPerAddress: s.field(
    "Maximum number of connections of one client address, or of one /64 network for IPv6. Default: half of `maxConnections`.",
    s.optional(s.integer(1, 1_000_000)),
  ),
  minRequestBodyRate: s.field(
    "Minimum rate of a request body in bytes per second, averaged over `timeouts.requestBody`; 0 for none. Streams of gRPC have none.",
    s.optional(s.integer(0, 1_000_000)),
    240,
  ),
  minResponseBodyRate: s.field(
    "Minimum rate in bytes per second at which a client reads a response while the gateway waits for it, averaged over 60 seconds; 0 for none.",
    s.optional(s.integer(0, 1_000_000)),
    240,
  ),
  allowedRoutes: s.field(
    "Routes that may attach to the listener.",
    s.optional(s.object({
      namespaces: s.field(
        "Namespaces of these routes.",
        s.optional(allowedNamespaces("Same")),
      ),
      kinds: s.field(
        "Kinds of these routes.",
        s.optional(s.list(
          s.object({
            group: s.field(
              "API group of the kind.",
              s.optional(s.string()),
              GATEWAY_API_GROUP,
            ),
            kind: s.field("Kind of route.", s.string()),
          }),
          { max: 8 },
        )),
      ),
    })),
  ),
};

/** A listener of a `Gateway` or `ListenerSet`. */
const listenerSchema = s.refine(
  s.object({
    name: s.field(
      "Name, unique in the resource; routes and policies refer to it by `sectionName`.",
      objectName,
    ),
    port: s.field("Port to listen on.", port),
    ...listenerEntries,
    tls: s.field("TLS termination.", s.optional(listenerTlsSchema)),
  }),
  s.rule(
    (listener) => listener.protocol !== "HTTPS" || listener.tls !== undefined,
    'protocol "HTTPS" requires "tls" with a certificate',
    ["protocol"],
  ),
  s.rule(
    (listener) => listener.protocol !== "HTTP" || listener.tls === undefined,
    'protocol "HTTP" cannot have "tls"; use protocol "HTTPS"',
    ["tls"],
  ),
);

/** Listeners of a `Gateway` or `ListenerSet`. */
export const listenersSchema = s.refine(
  s.list(listenerSchema, { min: 1, max: 64 }),
  s.unique((listener) => listener.name, "listener name"),
  s.unique(
    ({ hostname = "*", port, address }) =>
      `${hostname}:${port}${address === undefined ? "" : ` of ${address}`}`,
    "hostname and port",
  ),
);

const gatewayAddress = s.object({
  type: s.field(
    "Kind of address; the only `Hostname` is `localhost`.",
    s.withDefault(s.oneOf(["IPAddress", "Hostname"]), "IPAddress"),
  ),
  value: s.field(
    "Address to listen on. Default: one that the gateway chooses.",
    s.optional(listenAddress),
  ),
});

/** A `Gateway` of the Gateway API, extended by listener fields of this project. */
export const gatewaySchema = resource(
  gatewayApiVersion,
  "Gateway",
  s.object({
    gatewayClassName: s.field("Accepted, but ignored.", s.optional(s.string())),
    addresses: s.field(
      "Addresses to listen on, for listeners without an `address`. Default: all addresses.",
      s.optional(s.refine(
        s.list(gatewayAddress, { max: 16 }),
        s.unique(({ value }, index) => value ?? index, "address"),
      )),
    ),
    infrastructure: s.field("Accepted, but ignored.", s.optional(s.unknown())),
    listeners: s.field("Ports and hosts to serve.", listenersSchema),
    tls: s.field(
      "Client certificates of clients and of the gateway.",
      s.optional(gatewayTlsSchema),
    ),
    allowedListeners: s.field(
      "`ListenerSet` resources that may add listeners.",
      s.optional(s.object({
        namespaces: s.field(
          "Namespaces of these resources.",
          s.optional(allowedNamespaces("None")),
        ),
      })),
    ),
  }),
);

/** A gateway: named listeners that routes attach to. */
export type Gateway = s.Infer<typeof gatewaySchema>;

/** A port and hostname that accepts requests. */
export type Listener = Gateway["spec"]["listeners"][number];

/** Returns the addresses that a listener listens on; `undefined` is all addresses. Gateway API `GatewaySpec.addresses`. */
export function bindAddressesOf(
  { spec: { addresses = [] } }: Gateway,
  { address }: Pick<Listener, "address">,
): readonly (string | undefined)[] {
  if (address !== undefined) return [canonicalAddress(address)];
  const own = addresses.flatMap(({ value }) =>
    value === undefined ? [] : [canonicalAddress(value)]
  );
  return own.length > 0 ? own : [undefined];
}
