import { idpA } from "./idp_a.ts";
import { idpB } from "./idp_b.ts";
import { openIdProviders } from "./openid_providers.ts";
import type { ProviderAdapter } from "./provider.ts";

/** All adapters: a new one is a file, or an entry of `openIdProviders`, and an entry here. */
const adapters: readonly ProviderAdapter[] = [
  idpA,
  idpB,
  ...openIdProviders,
];

/** Every value of `mcp.provider`: the name of each adapter, then the other names. */
export const providerNames: readonly string[] = [
  ...adapters.map(({ names: [name] }) => name),
  ...adapters.flatMap(({ names: [, ...others] }) => others),
];

/** Describes the other names: "`Auth0` is `IdpA`, `Descope` is `IdpB`". */
export const describedAliases: string = adapters.flatMap((
  { names: [name, ...others] },
) => others.map((other) => `\`${other}\` is \`${name}\``)).join(", ");

/** Returns the adapter that `mcp.provider` selects with this name, such as `IdpA`. */
export function adapterOf(name: string): ProviderAdapter | undefined {
  return adapters.find(({ names }) => names.includes(name));
}
