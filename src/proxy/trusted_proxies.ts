import { BlockList, isIPv6 } from "node:net";
import type { TrustsPeer } from "./forwarding_headers.ts";

/**
 * Tells trusted proxies by their address.
 * @param ranges Valid CIDR ranges or addresses, such as `10.0.0.0/8` or `::1`; none trusts nobody.
 */
export function trustedProxies(ranges: readonly string[]): TrustsPeer {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return ({ address }) => list.check(address, familyOf(address));
}

function addRange(list: BlockList, range: string): void {
  const [address = "", bits] = range.split("/");
  if (bits === undefined) list.addAddress(address, familyOf(address));
  else list.addSubnet(address, Number(bits), familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
