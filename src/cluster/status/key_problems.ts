import { objectsAt, stringMember, stringsAt } from "../../base/json.ts";
import {
  type Condition,
  conditionNo,
  conditionYes,
} from "../../compile/outcomes/conditions.ts";
import {
  type KubernetesObject,
  objectKey,
} from "../client/kubernetes_object.ts";

/** Errors that keep keys from being fetched, by policy (`namespace/name`) and issuer. */
export type KeyProblems = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Selects, from the state of all key sets, those that have no keys yet and could not be fetched. */
export function keyProblemsOf(keySets: readonly unknown[]): KeyProblems {
  const problems = new Map<string, Map<string, string>>();
  for (const state of objectsAt(keySets)) {
    const error = stringMember(state, "lastError");
    if (error === undefined || state["fetchedAt"] !== null) continue;
    for (const policy of stringsAt(state, "policies")) {
      const own = problems.getOrInsertComputed(policy, () => new Map());
      for (const issuer of stringsAt(state, "issuers")) own.set(issuer, error);
    }
  }
  return problems;
}

/** Returns the conditions of a policy: without keys it is accepted, and rejects tokens. */
export function withKeyProblems(
  conditions: readonly Condition[],
  object: KubernetesObject,
  problems: KeyProblems,
): readonly Condition[] {
  const own = problems.get(objectKey(object));
  if (own === undefined || conditions.some(({ status }) => !status)) {
    return conditions;
  }
  const issuer = issuersOf(object).find((each) => own.has(each));
  if (issuer === undefined) return conditions;
  const message =
    `The keys of issuer "${issuer}" are not available, so its tokens get 503: ${
      own.get(issuer)
    }`;
  return [
    { ...conditionYes("Accepted"), reason: "PartiallyValid", message },
    conditionNo("Attached", "Pending", message),
  ];
}

function issuersOf({ spec }: KubernetesObject): readonly string[] {
  return objectsAt(spec, "traffic", "jwtAuthentication", "providers")
    .map(({ issuer }) => String(issuer));
}
