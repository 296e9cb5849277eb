import type { KeyProblems } from "./key_problems.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Condition } from "../../compile/outcomes/conditions.ts";
import type { Outcomes } from "../../compile/outcomes/outcomes.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import type { StatusAddress } from "./service_addresses.ts";
import type { ClusterState } from "../source/cluster_state.ts";

/** Sources of statuses. */
export interface StatusSources {
  readonly state: ClusterState;
  readonly outcomes: Outcomes;
  readonly controllerName: string;
  /** Features of the Gateway API that are supported, sorted. */
  readonly supportedFeatures: readonly string[];
  /** Returns the addresses of a gateway that has none of its own. */
  readonly addressesOf: (gateway: KubernetesObject) => readonly StatusAddress[];
  /** Returns conditions of a gateway that replace those of compilation. */
  readonly conditionsOf: (gateway: KubernetesObject) => readonly Condition[];
  /** Returns the newest objects of a kind: their statuses can be newer than those in `state`. */
  readonly objects: (kind: StatusKind) => Iterable<KubernetesObject>;
  readonly keyProblems: KeyProblems;
  /** Outcomes by the objects that have a status with them stored. */
  readonly stored: WeakMap<KubernetesObject, object>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Kinds that get a status. */
export type StatusKind =
  | "GatewayClass"
  | "Gateway"
  | "ListenerSet"
  | "HTTPRoute"
  | "GRPCRoute"
  | "GatewayPolicy"
  | "BackendTLSPolicy";

/** A status that an object should have. */
export interface DesiredStatus {
  readonly object: KubernetesObject;
  readonly status: JsonObject;
  /** The outcome that it has in `StatusSources.stored` once it is stored. */
  readonly outcome?: object | undefined;
}
