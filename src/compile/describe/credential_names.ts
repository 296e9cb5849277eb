import type { CredentialLocation } from "../../policy/contract/credential_location.ts";
import type { CredentialNames } from "../../snapshot/snapshot.ts";
import type { EffectivePolicy } from "../policies/effective_policy.ts";

/** Returns the headers and parameters that carry credentials, so that nobody shows their values. */
export function credentialNames(
  effective: Iterable<EffectivePolicy>,
): CredentialNames {
  const headers = new Set<string>();
  const parameters = new Set<string>();
  const add = ({ header, queryParameter }: CredentialLocation) => {
    if (header !== undefined) headers.add(header.name.toLowerCase());
    if (queryParameter !== undefined) {
      parameters.add(queryParameter.name.toLowerCase());
    }
  };
  for (const { kind, layers } of effective) {
    for (const { traffic } of layers) kind.credentials(traffic).forEach(add);
  }
  return { headers, parameters };
}

/** The names of both. */
export function unite(a: CredentialNames, b: CredentialNames): CredentialNames {
  return {
    headers: a.headers.union(b.headers),
    parameters: a.parameters.union(b.parameters),
    contents: (a.contents ?? new Set<string>()).union(b.contents ?? new Set()),
  };
}
