import { idpA } from "./idp_a.ts";
import { idpB } from "./idp_b.ts";
import type { ProviderAdapter } from "./provider.ts";

/** All adapters: a new one is a file and an entry here. */
const adapters: readonly ProviderAdapter[] = [idpA, idpB];

/** Returns the adapter that `mcp.provider` selects with this name, such as `IdpA`. */
export function adapterOf(name: string): ProviderAdapter | undefined {
  return adapters.find(({ names }) => names.includes(name));
}
