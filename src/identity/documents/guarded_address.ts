import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { systemLookup } from "../../base/wire/system_lookup.ts";
import { addressOfUrl, type DocumentAddress } from "./document_client.ts";
import { isPublicAddress } from "./public_address.ts";

/** Rules for a URL that somebody else has chosen. */
export interface GuardOptions {
  /** Decides which servers may be asked, trusted ones too. */
  readonly egress: EgressPolicy;
  /** Resolves a hostname to addresses; with the operating system by default. */
  readonly resolve?:
    | ((hostname: string) => Promise<readonly string[]>)
    | undefined;
  /** Trusted CAs, PEM; by default those of the operating system. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Reports whether a server may have a private address, because the operator has named it. */
  isTrusted(address: DocumentAddress): boolean;
}

/**
 * Returns the address of a URL that is on the public internet, or of a server that is trusted. Resolves the name once: a second
 * look-up could return an address that was not checked.
 * @throws {GatewayError} `egress_denied`.
 * @throws {Error} When it has a private address.
 */
export async function guardedAddress(
  url: string,
  { egress, resolve = systemLookup, caCertificates, isTrusted }: GuardOptions,
): Promise<DocumentAddress> {
  const address = addressOfUrl(url, caCertificates);
  egress.assertHost(address.connection);
  if (isTrusted(address)) return address;
  const addresses = await resolve(address.connection.host);
  const [first] = addresses;
  if (first === undefined || !addresses.every(isPublicAddress)) {
    throw new Error("its host is not on the public internet");
  }
  return { ...address, connection: { ...address.connection, host: first } };
}
