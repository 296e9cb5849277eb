import { isIP } from "node:net";

/** An IP address as a number. */
export interface IpAddress {
  /** Length in bits: 32 for IPv4, 128 for IPv6. */
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** An IP address or a range of them, such as `10.0.0.0/8`. */
export interface IpRange extends IpAddress {
  /** Number of leading bits that addresses of the range have in common. */
  readonly prefix: number;
}

const IPV4 = 0xffff_ffffn;
/** `::ffff:0:0/96`: IPv4 in another spelling. */
const MAPPED = 0xffffn;

/** Parses an address, without brackets; one that is mapped into IPv6 (`::ffff:10.0.0.1`) becomes IPv4. Returns `undefined` for other texts. */
export function parseIpAddress(text: string): IpAddress | undefined {
  // A zone names an interface: `fe80::1%eth0`.
  const [address = ""] = text.split("%", 1);
  switch (isIP(address)) {
    case 4:
      return { bits: 32, value: ipv4Value(address) };
    case 6: {
      const value = ipv6Value(address);
      return value >> 32n === MAPPED
        ? { bits: 32, value: value & IPV4 }
        : { bits: 128, value };
    }
    default:
      return undefined;
  }
}

/** Parses an address or a range such as `10.0.0.0/8`; returns `undefined` for other texts. */
export function parseIpRange(text: string): IpRange | undefined {
  const [address = "", length, ...more] = text.split("/");
  const parsed = parseIpAddress(address);
  if (parsed === undefined || more.length > 0) return undefined;
  if (length === undefined) return { ...parsed, prefix: parsed.bits };
  const written = isIP(address) === 4 ? 32 : 128;
  const prefix = Number(length) - (written - parsed.bits);
  return /^\d{1,3}$/.test(length) && prefix >= 0 && prefix <= parsed.bits
    ? { ...parsed, prefix }
    : undefined;
}

/** Reports whether an address is in a range. */
export function isInRange(address: IpAddress, range: IpRange): boolean {
  const rest = BigInt(range.bits - range.prefix);
  return address.bits === range.bits &&
    address.value >> rest === range.value >> rest;
}

/** Prefixes of IPv6 that end with an IPv4 address, to which a translator of the network forwards: RFC 4291, 6052, 8215, 7915. */
const translated = [
  "::/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "::ffff:0:0:0/96",
]
  .flatMap((text) => parseIpRange(text) ?? []);
const [sixToFour, teredo] = ["2002::/16", "2001::/32"].map(parseIpRange);
/** Second half of an ISATAP address, without the universal bit (RFC 5214). */
const ISATAP = 0x0000_5efen;
const UNIVERSAL = 0x0200_0000n;

/** Lists the IPv4 addresses that packets to an IPv6 address may end at: NAT64, 6to4, Teredo, ISATAP. */
export function embeddedAddresses(address: IpAddress): readonly IpAddress[] {
  const { bits, value } = address;
  if (bits === 32) return [];
  const found: bigint[] = [];
  // `::` and `::1` are addresses of their own.
  if (value > 1n && translated.some((range) => isInRange(address, range))) {
    found.push(value);
  }
  if (sixToFour && isInRange(address, sixToFour)) found.push(value >> 80n);
  if (teredo && isInRange(address, teredo)) found.push(~value);
  if (((value >> 32n) & IPV4 & ~UNIVERSAL) === ISATAP) found.push(value);
  return found.map((each) => ({ bits: 32, value: each & IPV4 }));
}

function ipv4Value(text: string): bigint {
  return text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function ipv6Value(text: string): bigint {
  const [head = "", tail] = text.split("::");
  const first = groupsOf(head);
  const last = groupsOf(tail ?? "");
  const zeros = new Array<bigint>(8 - first.length - last.length).fill(0n);
  return [...first, ...zeros, ...last].reduce(
    (sum, group) => (sum << 16n) + group,
    0n,
  );
}

function groupsOf(text: string): readonly bigint[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (!group.includes(".")) return [BigInt(`0x${group}`)];
    const value = ipv4Value(group);
    return [value >> 16n, value & 0xffffn];
  });
}

/** Returns what identifies a client: an IPv4 address, or a /64 network of IPv6, which is what one customer gets. */
export function clientKey(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined
    ? 0
    : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  const all = [
    ...groups,
    ...Array.from({ length: missing }, () => "0"),
    ...(tail ? tail.split(":") : []),
  ];
  return all.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, "")).join(
    ":",
  );
}
