import type { TrafficPolicyKind } from "../api/gateway_policy.ts";
import type { PolicyKind } from "./policy_kind.ts";

/** A kind whose code is there after `load`; `merge` is that of the kind that `load` answers. */
export function deferPolicy(
  kind: TrafficPolicyKind,
  merge: PolicyKind["merge"],
  load: () => Promise<PolicyKind>,
): PolicyKind {
  let loaded: PolicyKind | undefined;

  function code(): PolicyKind {
    if (loaded !== undefined) return loaded;
    throw new TypeError(`Cannot use policies of kind "${kind}": not loaded`);
  }

  return {
    kind,
    merge,
    async load() {
      loaded ??= await load();
    },
    check: (traffic, readFile) =>
      traffic[kind] === undefined ? [] : code().check(traffic, readFile),
    create: (traffic, options) =>
      traffic[kind] === undefined ? undefined : code().create(traffic, options),
    get combine() {
      return loaded?.combine;
    },
  };
}
