import { isIP } from "node:net";
import {
  embeddedAddresses,
  type IpAddress,
  type IpRange,
  isInRange,
  parseIpAddress,
  parseIpRange,
} from "./ip_address.ts";

/** `config.egress`: ranges of addresses, names, `*.example.com`, and `*` for every host. */
export interface EgressSettings {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** An address that tenants of a cluster must not reach, and whose it is. */
export interface ReservedAddress {
  readonly address: string;
  readonly of: "apiServer" | "gateway" | "node";
}

/** Reports whether a text can be an entry of `config.egress`. */
export function isEgressEntry(text: string): boolean {
  return parseIpRange(text) !== undefined ||
    (!text.includes("/") && isIP(text) === 0 &&
      /^(?:\*|(?:\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?)$/i.test(text) &&
      !/^[\d.]+$/.test(text));
}

/** One rule. Of those that match, the one with the highest rank decides; of equal ones, that which denies. */
interface Rule {
  readonly rank: number;
  /** `undefined` for rules that allow. */
  readonly denial: string | undefined;
}

type AddressRule = Rule & { readonly range: IpRange };
type NameRule = Rule & { matches(host: string): boolean };

/** Compiled rules. */
export interface EgressRules {
  readonly addresses: readonly AddressRule[];
  readonly names: readonly NameRule[];
}

const METADATA =
  "link-local and metadata addresses of clouds are denied in a cluster";
const SPECIAL = "multicast and unspecified addresses are denied in a cluster";
/** Message for the loopback interface. */
const LOOPBACK =
  "a backend of a cluster cannot be on the loopback interface of the gateway";
const API_SERVER = "the API server is denied to backends of a cluster";

/** Denied in a cluster: https://www.iana.org/assignments/iana-ipv4-special-registry, and documents of the clouds. */
const clusterRanges: readonly (readonly [string, string])[] = [
  ["0.0.0.0/8", SPECIAL],
  ["::/128", SPECIAL],
  ["224.0.0.0/4", SPECIAL],
  ["255.255.255.255", SPECIAL],
  ["ff00::/8", SPECIAL],
  ["127.0.0.0/8", LOOPBACK],
  ["::1", LOOPBACK],
  ["169.254.0.0/16", METADATA],
  ["fe80::/10", METADATA],
  // Alibaba Cloud, Azure, Oracle Cloud.
  ["100.100.100.200", METADATA],
  ["168.63.129.16", METADATA],
  ["192.0.0.192", METADATA],
  // AWS, Google Cloud, Oracle Cloud, Scaleway.
  ["fd00:ec2::/32", METADATA],
  ["fd20:ce::/32", METADATA],
  ["fd00:c1::a9fe:a9fe", METADATA],
  ["fd00:42::42", METADATA],
];

const clusterNames: readonly (readonly [string, string])[] = [
  ["localhost", LOOPBACK],
  ["*.localhost", LOOPBACK],
  ["metadata", METADATA],
  ["metadata.google.internal", METADATA],
  ["metadata.goog", METADATA],
  ["metadata.azure.internal", METADATA],
  ["metadata.tencentyun.com", METADATA],
  ["instance-data", METADATA],
  ["instance-data.ec2.internal", METADATA],
  ["kubernetes", API_SERVER],
  ["kubernetes.default", API_SERVER],
  ["kubernetes.default.svc", API_SERVER],
  ["kubernetes.default.svc.cluster.local", API_SERVER],
];

const reservations: Readonly<Record<ReservedAddress["of"], string>> = {
  apiServer: API_SERVER,
  gateway: "addresses of the gateway itself are denied in a cluster",
  node: "addresses of nodes are denied in a cluster",
};

/**
 * Compiles the rules of a process.
 * @param reserved Set in a cluster, which denies more. An `allow` entry opens a reserved address if it names exactly that; the
 * address of a node also if it is a range.
 */
export function compileEgress(
  { allow, deny }: EgressSettings,
  reserved: readonly ReservedAddress[] | undefined,
): EgressRules {
  const own = [
    ...allow.map((entry) => [entry, undefined] as const),
    ...deny.map((entry) =>
      [entry, `denied by "${entry}" of config.egress.deny`] as const
    ),
  ];
  const ofCluster = reserved === undefined ? [] : [
    ...clusterRanges,
    ...clusterNames,
    ...reserved.map(({ address, of }) => [address, reservations[of]] as const),
  ];
  return {
    addresses: [
      ...own.flatMap(([entry, denial]) => addressRule(entry, denial)),
      ...ofCluster.flatMap(([entry, denial]) => addressRule(entry, denial))
        .map((rule) => ({
          ...rule,
          rank: rule.denial === reservations.node
            ? NODE_RANK
            : rule.rank - CLUSTER_MARGIN,
        })),
    ],
    names: [
      ...own.flatMap(([entry, denial]) => nameRule(entry, denial)),
      ...ofCluster.flatMap(([entry, denial]) => nameRule(entry, denial))
        .map((rule) => ({ ...rule, rank: rule.rank - CLUSTER_MARGIN })),
    ],
  };
}

/** An entry of the operator decides where a cluster has the same one. */
const CLUSTER_MARGIN = 0.5;
const NODE_RANK = -1;
/** More than that of any `*.example.com`. */
const EXACT_NAME_RANK = 1000;

function addressRule(
  entry: string,
  denial: string | undefined,
): readonly AddressRule[] {
  const range = parseIpRange(entry);
  return range === undefined ? [] : [{ range, rank: range.prefix, denial }];
}

function nameRule(
  entry: string,
  denial: string | undefined,
): readonly NameRule[] {
  if (parseIpRange(entry) !== undefined) return [];
  const name = normalizeName(entry);
  if (name === "*") return [{ matches: () => true, rank: -1, denial }];
  if (!name.startsWith("*.")) {
    return [{
      matches: (host) => host === name,
      rank: EXACT_NAME_RANK,
      denial,
    }];
  }
  const suffix = name.slice(1);
  return [{
    matches: (host) => host.endsWith(suffix),
    rank: suffix.length,
    denial,
  }];
}

/** Returns why an address that a connection goes to is denied; `undefined` for one that is allowed. */
export function addressDenial(
  address: string,
  { addresses }: EgressRules,
): string | undefined {
  const parsed = parseIpAddress(address);
  if (parsed === undefined) return "not an IP address";
  return [parsed, ...embeddedAddresses(parsed)]
    .map((each) => decide(matching(addresses, each))?.denial)
    .find((denial) => denial !== undefined);
}

/** Returns why a configured host, a name or an address, is denied. Of a name, that says nothing about its addresses. */
export function hostDenial(
  host: string,
  rules: EgressRules,
): string | undefined {
  const parsed = parseIpAddress(host);
  const name = normalizeName(host);
  const named = rules.names.filter(({ matches }) => matches(name));
  if (parsed === undefined) return decide(named)?.denial;
  const denial = addressDenial(host, rules);
  if (denial !== undefined) return denial;
  // `*` is for every host, and any rule for addresses is more specific.
  return matching(rules.addresses, parsed).length > 0
    ? undefined
    : decide(named)?.denial;
}

/** Reports whether an address is on the loopback interface. */
export function isLoopback(host: string): boolean {
  const parsed = parseIpAddress(host);
  if (parsed === undefined) return normalizeName(host) === "localhost";
  return parsed.bits === 32
    ? parsed.value >> 24n === 127n
    : parsed.value === 1n;
}

function matching(
  rules: readonly AddressRule[],
  address: IpAddress,
): readonly AddressRule[] {
  return rules.filter(({ range }) => isInRange(address, range));
}

function decide(rules: readonly Rule[]): Rule | undefined {
  return rules.reduce<Rule | undefined>((best, rule) => {
    if (best === undefined || rule.rank > best.rank) return rule;
    return rule.rank === best.rank && rule.denial !== undefined ? rule : best;
  }, undefined);
}

/** Names are case-insensitive, and may end with the root. */
function normalizeName(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
