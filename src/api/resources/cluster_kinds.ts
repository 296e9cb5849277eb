import { GATEWAY_API_GROUP } from "../schema/group.ts";
import { identityEntries, metadataSchema } from "./resource.ts";
import { namespace, port, referenceName } from "../schema/scalars.ts";
import * as s from "../schema/schema.ts";

/** Schema of a kind that others define: fields that the gateway does not read are accepted. */
function foreign<
  const V extends string,
  const K extends string,
  E extends s.Entries,
>(apiVersion: V, kind: K, entries: E) {
  return s.openObject({ ...identityEntries(apiVersion, kind), ...entries });
}

const stringMap = s.optional(s.map(s.string(), s.string()));

/** A `Service`: backends refer to its ports. */
export const serviceSchema = foreign("v1", "Service", {
  spec: s.field(
    "Ports of the service.",
    s.openObject({
      type: s.field("Kind of service.", s.optional(s.string()), "ClusterIP"),
      externalName: s.field(
        "Host of a service of type `ExternalName`, to which requests are rejected.",
        s.optional(s.string()),
      ),
      ports: s.field(
        "Ports.",
        s.optional(s.array(s.openObject({
          name: s.field("Name of the port.", s.optional(s.string())),
          port: s.field("Port that references name.", port),
          protocol: s.field(
            "Transport; only `TCP` is used.",
            s.optional(s.string()),
            "TCP",
          ),
          appProtocol: s.field(
            "`kubernetes.io/h2c`: HTTP/2 without TLS. `kubernetes.io/ws`: WebSockets. Others: negotiated.",
            s.optional(s.nullable(s.string())),
          ),
        }))),
      ),
    }),
  ),
});

/** Endpoints of a service. */
export const endpointSliceSchema = foreign(
  "discovery.k8s.io/v1",
  "EndpointSlice",
  {
    addressType: s.field(
      "Kind of the addresses; `FQDN` is ignored.",
      s.string(),
    ),
    endpoints: s.field(
      "Addresses and their state.",
      s.optional(s.nullable(s.array(s.openObject({
        addresses: s.field(
          "Addresses, of which the first is used.",
          s.array(s.string()),
        ),
        conditions: s.field(
          "State of the endpoint.",
          s.optional(s.openObject({
            ready: s.field(
              "Gets requests. Default: true.",
              s.optional(s.nullable(s.boolean())),
            ),
            serving: s.field(
              "Gets requests while it terminates, if no other is ready.",
              s.optional(s.nullable(s.boolean())),
            ),
            terminating: s.field(
              "Ends soon.",
              s.optional(s.nullable(s.boolean())),
            ),
          })),
        ),
        zone: s.field(
          "Zone of the endpoint.",
          s.optional(s.nullable(s.string())),
        ),
      })))),
    ),
    ports: s.field(
      "Ports of every address, by the names of the service's ports.",
      s.optional(s.nullable(s.array(s.openObject({
        name: s.field(
          "Name of the service's port.",
          s.optional(s.nullable(s.string())),
        ),
        port: s.field(
          "Port to connect to.",
          s.optional(s.nullable(s.number())),
        ),
      })))),
    ),
  },
);

/** A `Secret`; of type `kubernetes.io/tls` it holds a certificate of a listener. */
export const secretSchema = foreign("v1", "Secret", {
  type: s.field(
    "`kubernetes.io/tls` for certificates.",
    s.optional(s.string()),
  ),
  data: s.field("Values in base64.", s.optional(s.map(s.string(), s.secret()))),
  stringData: s.field(
    "Values as they are.",
    s.optional(s.map(s.string(), s.secret())),
  ),
});

/** A `ConfigMap`: holds CA certificates under `ca.crt`. */
export const configMapSchema = foreign("v1", "ConfigMap", {
  data: s.field("Values.", stringMap),
});

/** A `Namespace`: listeners select routes by its labels. */
export const namespaceSchema = foreign("v1", "Namespace", {});

const grantPeer = {
  group: s.field("API group; the core group is empty.", s.string()),
  kind: s.field("Kind.", s.text(63)),
};

/** Allows references from other namespaces; Gateway API `ReferenceGrant`. */
export const referenceGrantSchema = s.openObject({
  apiVersion: s.field(
    "Group and version of the kind.",
    s.oneOf([`${GATEWAY_API_GROUP}/v1beta1`, `${GATEWAY_API_GROUP}/v1`]),
  ),
  kind: s.field("Kind of the resource.", s.literal("ReferenceGrant")),
  metadata: s.field(
    "Name, and the namespace of the resources that may be referred to.",
    metadataSchema,
  ),
  spec: s.field(
    "Permitted references.",
    s.object({
      from: s.field(
        "Resources that may refer.",
        s.list(
          s.object({
            ...grantPeer,
            namespace: s.field("Namespace of the resources.", namespace),
          }),
          { min: 1, max: 16 },
        ),
      ),
      to: s.field(
        "Resources that they may refer to.",
        s.list(
          s.object({
            ...grantPeer,
            name: s.field(
              "Name of the resource. Default: all of the kind.",
              s.optional(referenceName),
            ),
          }),
          { min: 1, max: 16 },
        ),
      ),
    }),
  ),
});

/** Ports under one name. */
export type Service = s.Infer<typeof serviceSchema>;
/** Some endpoints of a service. */
export type EndpointSlice = s.Infer<typeof endpointSliceSchema>;
/** A certificate with its key, or other secrets. */
export type Secret = s.Infer<typeof secretSchema>;
/** Data that is not secret. */
export type ConfigMap = s.Infer<typeof configMapSchema>;
/** A namespace with its labels. */
export type Namespace = s.Infer<typeof namespaceSchema>;
/** A permission to refer to resources of its namespace. */
export type ReferenceGrant = s.Infer<typeof referenceGrantSchema>;

/** All slices of some services, by `namespace/name` of the service. */
export type ServiceSlices = ReadonlyMap<string, readonly EndpointSlice[]>;

/** Returns the service of a slice, `namespace/name`. */
export function serviceOf(
  { metadata: { namespace = "", labels = {} } }: {
    readonly metadata: {
      readonly namespace?: string;
      readonly labels?: Readonly<Record<string, string>>;
    };
  },
): string {
  return `${namespace}/${labels["kubernetes.io/service-name"] ?? ""}`;
}
