import {
  isJsonObject,
  type JsonObject,
  stringMember,
} from "../../base/json.ts";
import {
  type Condition,
  conditionNo,
  conditionYes,
} from "../../compile/conditions.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";

/** Errors that keep the keys of issuers from being fetched, by issuer. */
export type KeyProblems = ReadonlyMap<string, string>;

/** Selects, from the state of all key sets, those that have no keys yet and could not be fetched. */
export function keyProblemsOf(keySets: readonly unknown[]): KeyProblems {
  return new Map(
    keySets.filter(isJsonObject).flatMap((state) => {
      const error = stringMember(state, "lastError");
      const { issuers, fetchedAt } = state;
      if (error === undefined || fetchedAt !== null) return [];
      const names = Array.isArray(issuers) ? issuers : [];
      return names.map((issuer) => [String(issuer), error] as const);
    }),
  );
}

/** Returns the conditions of a policy: without keys it is accepted, and rejects tokens. */
export function withKeyProblems(
  conditions: readonly Condition[],
  object: KubernetesObject,
  problems: KeyProblems,
): readonly Condition[] {
  if (problems.size === 0 || conditions.some(({ status }) => !status)) {
    return conditions;
  }
  const issuer = issuersOf(object).find((each) => problems.has(each));
  if (issuer === undefined) return conditions;
  const message =
    `The keys of issuer "${issuer}" are not available, so its tokens get 503: ${
      problems.get(issuer)
    }`;
  return [
    { ...conditionYes("Accepted"), reason: "PartiallyValid", message },
    conditionNo("Attached", "Pending", message),
  ];
}

function issuersOf({ spec }: KubernetesObject): readonly string[] {
  const traffic = memberOf(spec, "traffic");
  const { providers } = memberOf(traffic, "jwtAuthentication");
  return Array.isArray(providers)
    ? providers.map((provider) =>
      String(memberOf({ provider }, "provider")["issuer"])
    )
    : [];
}

function memberOf(value: unknown, name: string): JsonObject {
  const member = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(member) ? member : {};
}
