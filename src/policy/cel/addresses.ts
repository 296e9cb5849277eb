import {
  isInRange,
  parseIpAddress,
  parseIpRange,
} from "../../base/wire/ip_address.ts";

/** Reports whether a string is an IP address. */
export function isAddress(text: string): boolean {
  return parseIpAddress(text) !== undefined;
}

/** Reports whether a string is a range of IP addresses, such as `10.0.0.0/8`. */
export function isRange(text: string): boolean {
  return text.includes("/") && parseIpRange(text) !== undefined;
}

/** Returns a string that is an IP address. @throws {TypeError} For any other. */
export function expectAddress(text: string): string {
  if (isAddress(text)) return text;
  throw new TypeError("the string is not an IP address");
}

/** Returns a string that is a range. @throws {TypeError} For any other. */
export function expectRange(text: string): string {
  if (isRange(text)) return text;
  throw new TypeError("the string is not a range of IP addresses");
}

/**
 * Implements `containsIP` of the IP functions of Kubernetes: `cidr('10.0.0.0/8').containsIP('10.1.2.3')`.
 *
 * https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-cidr-library
 * @throws {TypeError} If one of them is invalid.
 */
export function containsIp(range: string, address: string): boolean {
  const outer = parseIpRange(expectRange(range));
  const inner = parseIpAddress(expectAddress(address));
  return outer !== undefined && inner !== undefined && isInRange(inner, outer);
}
