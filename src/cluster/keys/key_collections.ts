import type { Collection } from "../source/collections.ts";

/** Kinds of objects in the cluster by which there are keys, and the kinds that they have in the store. */
export const storeKinds = {
  GatewayTeam: "team",
  GatewayUser: "user",
  GatewayKey: "key",
} as const;

/** Kind of an object in the cluster by which there are keys. */
export type KeyKind = keyof typeof storeKinds;

/** Returns the label of Secrets with keys; its value is `key`. */
export function credentialsLabel(policyApiGroup: string): string {
  return `${policyApiGroup}/credentials`;
}

/** Returns the collections of keys, users, teams, and Secrets with keys. */
export function createKeyCollections(
  policyApiGroup: string,
): readonly Collection[] {
  const apiVersion = `${policyApiGroup}/v1alpha1`;
  const hasStatus = true;
  return [
    { kind: "GatewayTeam", apiVersion, plural: "gatewayteams", hasStatus },
    { kind: "GatewayUser", apiVersion, plural: "gatewayusers", hasStatus },
    { kind: "GatewayKey", apiVersion, plural: "gatewaykeys", hasStatus },
    {
      kind: "Secret",
      apiVersion: "v1",
      plural: "secrets",
      labelSelector: `${credentialsLabel(policyApiGroup)}=key`,
    },
  ];
}
