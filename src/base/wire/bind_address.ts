/**
 * Reports whether one port cannot be opened at both addresses: `undefined` and `::` are all addresses, `0.0.0.0` all of
 * IPv4, `localhost` 127.0.0.1 and ::1.
 */
export function addressesOverlap(
  one: string | undefined,
  other: string | undefined,
): boolean {
  return expand(one).some((a) =>
    expand(other).some((b) => contains(a, b) || contains(b, a))
  );
}

/** Reports whether connections to `inner` also reach a socket at `outer`. */
export function addressIncludes(
  outer: string | undefined,
  inner: string | undefined,
): boolean {
  return expand(inner).every((b) => expand(outer).some((a) => contains(a, b)));
}

/** Returns the shortest spelling of an IPv6 address; others are returned as they are. */
export function canonicalAddress(address: string): string {
  return address.includes(":")
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : address;
}

function expand(address = "::"): readonly string[] {
  return address === "localhost"
    ? ["127.0.0.1", "::1"]
    : [canonicalAddress(address)];
}

function contains(outer: string, inner: string): boolean {
  return outer === inner || outer === "::" ||
    (outer === "0.0.0.0" && !inner.includes(":"));
}
