import {
  createKindSchemas,
  emptyResourceSet,
  type Kind,
  type ResourceSet,
} from "../../../src/api/resources/resource_set.ts";
import { validate } from "../../../src/api/schema/validate.ts";
import {
  gatewayApiVersion,
  POLICY_API_GROUP,
  policyApiVersion,
} from "../../../src/api/schema/group.ts";
import { compile, type Compiled } from "../../../src/compile/compile.ts";
import { builtInPolicies } from "../../../src/policy/registry.ts";
import type { Listener, Route } from "../../../src/snapshot/snapshot.ts";

// Compiling waits for nothing: whatever the tests configure is loaded before.
const schemas = createKindSchemas(builtInPolicies.schemas);

for (const kind of builtInPolicies.kinds) await kind.load();

/** Kubernetes metadata besides the name. */
type Metadata = Readonly<Record<string, unknown>>;

/** A gateway; without `listeners` it has one named `http` on port 80. */
export function gateway(
  name: string,
  listeners: readonly unknown[] = [{}],
  metadata: Metadata = {},
) {
  const filled = listeners.map((listener) => ({
    name: "http",
    port: 80,
    protocol: "HTTP",
    ...listener as object,
  }));
  return decode("Gateway", { name, ...metadata }, { listeners: filled });
}

/** A route of gateway `gw` unless `spec` says otherwise. */
export function route(
  name: string,
  spec: object = {},
  metadata: Metadata = {},
) {
  return decode("HTTPRoute", { name, ...metadata }, {
    parentRefs: [{ name: "gw" }],
    ...spec,
  });
}

/** A backend at `<name>.example:80`. */
export function backend(
  name: string,
  spec: object = {},
  metadata: Metadata = {},
) {
  const target = { static: { host: `${name}.example`, port: 80 } };
  return decode("GatewayBackend", { name, ...metadata }, {
    ...target,
    ...spec,
  });
}

/** A policy for the targets. */
export function policy(
  name: string,
  targetRefs: readonly unknown[],
  spec: object,
  metadata: Metadata = {},
) {
  return decode("GatewayPolicy", { name, ...metadata }, {
    targetRefs,
    ...spec,
  });
}

/** A TLS policy for backends of those names. */
export function tlsPolicy(
  name: string,
  targets: readonly string[],
  validation: object,
  metadata: Metadata = {},
) {
  const targetRefs = targets.map((target) => ({ name: target }));
  return decode("BackendTLSPolicy", { name, ...metadata }, {
    targetRefs,
    validation,
  });
}

/** A reference to a backend as a rule has it. */
export function to(name: string, more: object = {}) {
  return { group: POLICY_API_GROUP, kind: "GatewayBackend", name, ...more };
}

/** Compiles, at that time; files that resources name are looked up in `files`. */
export function compileAll(
  resources: Partial<ResourceSet>,
  files: Readonly<Record<string, string>> = {},
  now = 0,
): Compiled {
  return compile({ ...emptyResourceSet, ...resources }, {
    policies: builtInPolicies,
    now,
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw new Error(`No such file "${path}"`);
      return text;
    },
  });
}

/** Every diagnostic on one line: `warning HTTPRoute/default/mcp spec.rules.0: message`. */
export function diagnosticLines({ diagnostics }: Compiled): string[] {
  return diagnostics.map(
    ({ severity, resource, path, message, suggestion }) => {
      const { kind, namespace, name } = resource;
      const hint = suggestion === undefined ? "" : ` (${suggestion}?)`;
      return `${severity} ${kind}/${namespace}/${name} ${
        path.join(".")
      }: ${message}${hint}`;
    },
  );
}

/** The listener of that key, such as `default/gw/http`. */
export function listenerOf(
  { snapshot }: Compiled,
  key = "default/gw/http",
): Listener {
  const listener = snapshot.ports.flatMap(({ listeners }) => listeners)
    .find((each) => each.key === key);
  if (listener === undefined) throw new Error(`No listener "${key}"`);
  return listener;
}

/** The route for a GET, as `find` answers it. */
export function routeFor(
  compiled: Compiled,
  { target = "/", hostname = "gw.example", listener }: {
    readonly target?: string;
    readonly hostname?: string;
    readonly listener?: string;
  } = {},
): Route | undefined {
  return listenerOf(compiled, listener).routes.find({
    method: "GET",
    target,
    hostname,
    header: () => undefined,
  })?.value;
}

const apiVersions = {
  Gateway: gatewayApiVersion,
  ListenerSet: gatewayApiVersion,
  HTTPRoute: gatewayApiVersion,
  BackendTLSPolicy: gatewayApiVersion,
  GatewayPolicy: policyApiVersion,
  GatewayBackend: policyApiVersion,
  Service: "v1",
  EndpointSlice: "discovery.k8s.io/v1",
  Secret: "v1",
  ConfigMap: "v1",
  Namespace: "v1",
  GRPCRoute: gatewayApiVersion,
  ReferenceGrant: "gateway.networking.k8s.io/v1beta1",
} satisfies Record<Kind, string>;

/** A valid resource of any kind; `fields` are those beside `spec`. */
export function decode<K extends Kind>(
  kind: K,
  metadata: Metadata,
  spec: object = {},
  fields: object = {},
) {
  const schema = schemas[kind];
  const result = validate(schema, {
    apiVersion: apiVersions[kind],
    kind,
    metadata,
    spec,
    ...fields,
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.value;
}
