import type { ResourceSet } from "../../api/resources/resource_set.ts";
import type { CredentialNames } from "../../snapshot/snapshot.ts";
import { headersReadBy } from "../../base/redaction.ts";
import { isHideable } from "./redact_configuration.ts";

/**
 * The headers and query parameters whose values the environment gave, in routes and policies: a key for a backend, one that a route is
 * matched by, or one that an expression compares.
 */
export function environmentNames(
  { environment = [], httpRoutes, gatewayPolicies }: ResourceSet,
): CredentialNames {
  const headers = new Set<string>();
  const parameters = new Set<string>();
  const given = environment.filter(isHideable);
  const visit = (value: unknown, names: Set<string>): void => {
    if (
      typeof value === "string" && given.some((each) => value.includes(each))
    ) {
      for (const name of headersReadBy(value)) headers.add(name);
    }
    if (typeof value !== "object" || value === null) return;
    const field = nameAndValue(value);
    if (field !== undefined && given.some((text) => field[1].includes(text))) {
      names.add(field[0].toLowerCase());
    }
    for (const [key, item] of Object.entries(value)) {
      visit(item, key === "queryParams" ? parameters : names);
    }
  };
  if (given.length > 0) {
    visit(httpRoutes.map(({ spec }) => spec), headers);
    visit(gatewayPolicies.map(({ spec }) => spec), headers);
  }
  return { headers, parameters };
}

/** `["x-key", "s3cret"]` of a header or query parameter. */
function nameAndValue(value: object): readonly [string, string] | undefined {
  return "name" in value && typeof value.name === "string" &&
      "value" in value && typeof value.value === "string"
    ? [value.name, value.value]
    : undefined;
}
