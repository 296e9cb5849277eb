import { listAt } from "../../base/json.ts";
import type { Resource } from "../../api/resources/resource_set.ts";

/** Fields of policies that name files. Authors of resources in a cluster must not read those of the gateway, such as its token. */
const fileFields: readonly string[] = [
  "jwtAuthentication.mcp.clientSecretFile",
  "jwtAuthentication.mcp.stateSecretFile",
  "basicAuthentication.file",
  "oidc.caFile",
  "oidc.clientSecretFile",
  "oidc.cookieSecretFile",
];

/** Returns the path of a field of a policy that names a file; `undefined` when there is none. */
export function findFileField(resource: Resource): string | undefined {
  if (resource.kind !== "GatewayPolicy") return undefined;
  const { traffic } = resource.spec;
  const fields = listAt(traffic, "jwtAuthentication", "providers").flatMap(
    (_, index) =>
      [
        "jwks.file",
        "introspection.clientSecretFile",
        "introspection.privateKeyFile",
      ].map((field) => `jwtAuthentication.providers.${index}.${field}`),
  );
  const ofClients = ["tokenClients", "assertionIssuers"].flatMap((name) =>
    listAt(traffic, "jwtAuthentication", "mcp", name).map((_, index) =>
      `jwtAuthentication.mcp.${name}.${index}.jwks.file`
    )
  );
  const found = [...fileFields, ...fields, ...ofClients].find((path) =>
    memberAt(traffic, path) !== undefined
  );
  return found && `spec.traffic.${found}`;
}

function memberAt(value: unknown, path: string): unknown {
  return path.split(".").reduce(
    (holder: unknown, name) =>
      typeof holder === "object" && holder !== null
        ? Reflect.get(holder, name)
        : undefined,
    value,
  );
}
