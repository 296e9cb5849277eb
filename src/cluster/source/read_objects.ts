import {
  isJsonObject,
  type JsonObject,
  objectsAt,
  valueAt,
} from "../../base/json.ts";
import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import type {
  KindSchemas,
  Resource,
} from "../../api/resources/resource_set.ts";
import {
  formatPath,
  type Problem,
  validate,
} from "../../api/schema/validate.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { ConfigurationCollection } from "./collections.ts";
import { RouteAnnotationError, withAnnotations } from "./route_annotations.ts";
import { findFileField } from "./file_fields.ts";

/** An object that cannot be used, or a part of it. */
export interface Rejection {
  readonly object: KubernetesObject;
  /** The problem, with the path of the field. */
  readonly message: string;
  /** Name of the listener that is invalid; the rest of its resource is used. */
  readonly listener?: string;
  /** Reason of the condition; default `Invalid`. */
  readonly reason?: string;
}

/** Result of reading an object. */
export interface ReadObject {
  readonly resource?: Resource;
  readonly rejections: readonly Rejection[];
}

/** Options of reading objects. */
export interface ReadOptions {
  readonly schemas: KindSchemas;
  readonly policyApiGroup: string;
  /** Gateways have parameters, which others read. */
  readonly isManaged: boolean;
}

/** Metadata that the gateway reads; others, such as those of newer API servers, are dropped. */
const METADATA = [
  "name",
  "namespace",
  "creationTimestamp",
  "labels",
  "annotations",
  "generation",
  "uid",
] as const;

/** Validates an object of the API server. A listener that is invalid does not invalidate the others of its resource. */
export function readObject(
  object: KubernetesObject,
  { kind }: ConfigurationCollection,
  options: ReadOptions,
): ReadObject {
  if (kind === "GatewayClass") return { rejections: [] };
  const written = toResource(object, options.policyApiGroup);
  if (kind === "Gateway" || kind === "ListenerSet") {
    return readListeners(object, written, { kind, ...options });
  }
  if (kind === "HTTPRoute" || kind === "GRPCRoute") {
    return readRoute(object, written, { kind, ...options });
  }
  const result = validate(options.schemas[kind], written);
  const file = result.ok ? findFileField(result.value) : undefined;
  if (result.ok && file === undefined) {
    return { resource: result.value, rejections: [] };
  }
  const message = result.ok
    ? `${file}: a policy of the cluster cannot read files of the gateway`
    : describeProblems(result.problems);
  const rejections = [{ object, message }];
  switch (kind) {
    case "GatewayPolicy":
      return { rejections, ...denyingPolicy(written, options) };
    case "BackendTLSPolicy":
      return { rejections, ...unusableTlsPolicy(written, options) };
    default:
      return { rejections };
  }
}

function readRoute(
  object: KubernetesObject,
  written: JsonObject,
  { kind, schemas, policyApiGroup }: ReadOptions & {
    readonly kind: "HTTPRoute" | "GRPCRoute";
  },
): ReadObject {
  try {
    const route = withAnnotations(written, policyApiGroup);
    const result = kind === "HTTPRoute"
      ? validate(schemas.HTTPRoute, route)
      : validate(schemas.GRPCRoute, route);
    if (result.ok) return { resource: result.value, rejections: [] };
    const message = describeProblems(result.problems);
    return { rejections: [{ object, message }] };
  } catch (error) {
    if (!(error instanceof RouteAnnotationError)) throw error;
    return { rejections: [{ object, message: error.message }] };
  }
}

function toResource(
  object: KubernetesObject,
  policyApiGroup: string,
): JsonObject {
  const { status: _, metadata, ...fields } = object;
  const own = Object.fromEntries(
    METADATA.flatMap((name) =>
      metadata[name] === undefined ? [] : [[name, metadata[name]]]
    ),
  );
  const resource = { ...fields, metadata: own };
  return policyApiGroup === POLICY_API_GROUP
    ? resource
    : renameGroup(resource, policyApiGroup);
}

/** Replaces the installation's API group in `apiVersion` and in references. */
function renameGroup(value: JsonObject, group: string): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      renameMember(name, member, group),
    ]),
  );
}

function renameMember(name: string, value: unknown, group: string): unknown {
  if (name === "group" && value === group) return POLICY_API_GROUP;
  if (name === "apiVersion" && value === `${group}/v1alpha1`) {
    return `${POLICY_API_GROUP}/v1alpha1`;
  }
  if (Array.isArray(value)) {
    return value.map((item: unknown) =>
      isJsonObject(item) ? renameGroup(item, group) : item
    );
  }
  return isJsonObject(value) ? renameGroup(value, group) : value;
}

function readListeners(
  object: KubernetesObject,
  written: JsonObject,
  { kind, schemas, isManaged }: ReadOptions & {
    readonly kind: "Gateway" | "ListenerSet";
  },
): ReadObject {
  const check = (value: JsonObject) =>
    kind === "Gateway"
      ? validate(schemas.Gateway, value)
      : validate(schemas.ListenerSet, value);
  const whole = check(written);
  const address = unsupportedAddressOf(written);
  if (address !== undefined) {
    const message =
      `spec.addresses: address "${address}" is not supported; use type "IPAddress"`;
    return { rejections: [{ object, message, reason: "UnsupportedAddress" }] };
  }
  const parameters = isManaged ? undefined : parametersRefOf(written);
  if (parameters !== undefined) {
    const message =
      `spec.infrastructure.parametersRef: kind "${parameters}" is not supported`;
    return { rejections: [{ object, message, reason: "InvalidParameters" }] };
  }
  if (whole.ok) return { resource: whole.value, rejections: [] };
  const spec = written["spec"];
  if (!isJsonObject(spec) || !Array.isArray(spec["listeners"])) {
    return {
      rejections: [{ object, message: describeProblems(whole.problems) }],
    };
  }
  const withListeners = (listeners: readonly unknown[]) =>
    check({ ...written, spec: { ...spec, listeners } });
  const rejections: Rejection[] = [];
  const valid = spec["listeners"].filter((listener: unknown) => {
    const alone = withListeners([listener]);
    if (alone.ok) return true;
    const message = describeProblems(alone.problems);
    const name = String(valueAt(listener, "name"));
    rejections.push({ object, message, listener: name });
    return false;
  });
  if (valid.length === 0) return { rejections };
  const rest = withListeners(valid);
  return rest.ok ? { resource: rest.value, rejections } : {
    rejections: [{ object, message: describeProblems(rest.problems) }],
  };
}

/** Returns the value of an address that is no IP address. */
function unsupportedAddressOf({ spec }: JsonObject): string | undefined {
  const found = objectsAt(spec, "addresses").find((
    { type = "IPAddress", value },
  ) => type !== "IPAddress" && value !== "localhost");
  return found && String(found["value"]);
}

function parametersRefOf({ spec }: JsonObject): string | undefined {
  const ref = valueAt(spec, "infrastructure", "parametersRef");
  return isJsonObject(ref) ? `${ref["kind"]}.${ref["group"]}` : undefined;
}

/** Returns a policy that denies every request to the targets of an invalid one: without it they would be unprotected. */
function denyingPolicy(written: JsonObject, { schemas }: ReadOptions) {
  const directResponse = { status: 500, body: "invalid policy" };
  const result = validate(
    schemas.GatewayPolicy,
    withSpec(written, { traffic: { directResponse } }),
  );
  return result.ok ? { resource: result.value } : {};
}

/** Returns a policy with which no connection succeeds, in place of an invalid one: without it they would be in plain text. */
function unusableTlsPolicy(written: JsonObject, { schemas }: ReadOptions) {
  const caCertificateRefs = [{ group: "", kind: "ConfigMap", name: "-" }];
  const result = validate(
    schemas.BackendTLSPolicy,
    withSpec(written, {
      validation: { hostname: "invalid", caCertificateRefs },
    }),
  );
  return result.ok ? { resource: result.value } : {};
}

/** Returns a policy with the same targets and another specification. */
function withSpec(written: JsonObject, spec: JsonObject): JsonObject {
  const targetRefs = valueAt(written, "spec", "targetRefs");
  return { ...written, spec: { targetRefs, ...spec } };
}

function describeProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) =>
    path.length === 0 ? message : `${formatPath(path)}: ${message}`
  ).join("; ");
}
