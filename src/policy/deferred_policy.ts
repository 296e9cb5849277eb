import type { TrafficPolicyKind } from "../api/resources/gateway_policy.ts";
import type { PolicyKind } from "./policy_kind.ts";

/**
 * A kind whose code is there after `load`.
 * @param merge That of the kind that is loaded.
 * @param importKinds Answers the kind under its name, with others.
 */
export function deferPolicy<K extends TrafficPolicyKind>(
  kind: K,
  merge: PolicyKind["merge"],
  importKinds: () => Promise<Readonly<Record<K, PolicyKind>>>,
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
      loaded ??= (await importKinds())[kind];
    },
    check: (traffic, options) =>
      traffic[kind] === undefined ? [] : code().check(traffic, options),
    create: (traffic, options) =>
      traffic[kind] === undefined ? undefined : code().create(traffic, options),
    get combine() {
      return loaded?.combine;
    },
  };
}
