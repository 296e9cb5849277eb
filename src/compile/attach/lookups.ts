import type { Gateway } from "../../api/resources/gateway_resource.ts";
import type { GatewayPolicy } from "../../api/resources/gateway_policy_schema.ts";
import type { ClientCertificate } from "../../http/client/upstream.ts";
import type { Backend } from "../../snapshot/snapshot.ts";
import type { View } from "../memory/compile_memory.ts";
import type { ListenerSite } from "./listener_sites.ts";
import { levelOf, type PolicyTarget } from "./attach_policies.ts";

/** The output of the passes `resolve` and `attach`, on which results depend. */
export type Attached = View<{
  /** By `Backend.key`. */
  readonly backends: ReadonlyMap<string, Backend>;
  /** See `CompiledBackends`. */
  readonly invalidBackends: ReadonlyMap<string, string | undefined>;
  readonly clientCertificates: ReadonlyMap<Gateway, ClientCertificate>;
  /** Policies by the key of their level, the winner of a conflict first; see `levelOf`. */
  readonly policies: ReadonlyMap<string, readonly GatewayPolicy[]>;
  /** By the key of their gateway or listener set. */
  readonly sites: ReadonlyMap<string, readonly ListenerSite[]>;
}>;

/** Returns the backend with a key. */
export function backendOf(
  key: string,
  attached: Attached,
): Backend | undefined {
  return attached.read(({ backends }) => backends.get(key));
}

/** Returns the policies of one level; `phase` as `levelOf`. */
export function policiesAt(
  attached: Attached,
  target: PolicyTarget,
  phase?: "PreRouting" | "inline",
): readonly GatewayPolicy[] {
  const key = levelOf(target, phase);
  return attached.read(({ policies }) => policies.get(key)) ?? [];
}
