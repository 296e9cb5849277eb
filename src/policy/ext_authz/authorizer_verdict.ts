import { isFieldName, isFieldValue } from "../../http/field_syntax.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { Claims } from "../contract/identity.ts";

/** Decision of an authorizer. */
export type AuthorizerVerdict = AllowedRequest | DeniedRequest;

/** The request may go on, with changes. */
export interface AllowedRequest {
  readonly kind: "allowed";
  /** In order; names in lower case. */
  readonly changes: readonly HeaderChange[];
  readonly removed: readonly string[];
  /** Headers to add to the response. */
  readonly responseHeaders: HeaderList;
  /** For rules; empty if there is none. */
  readonly metadata: Claims;
}

/** A change of a request header. */
export interface HeaderChange {
  readonly name: string;
  readonly value: string;
  readonly action: "set" | "append" | "addIfAbsent" | "setIfPresent";
}

/** The client gets the response of the authorizer. */
export interface DeniedRequest {
  readonly kind: "denied";
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Uint8Array;
}

/** Fields that are about a connection or the framing of a message, and pseudo fields that routing has read. */
const forbidden =
  /^(?::.*|connection|content-length|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/;

/** Returns the name of a field that an authorizer may change, in lower case. @throws {TypeError} */
export function expectName(name: string): string {
  const lower = name.toLowerCase();
  if (!isFieldName(lower) || forbidden.test(lower)) {
    throw new TypeError("the authorizer changes a header that it must not");
  }
  return lower;
}

/** Returns the value of a field. @throws {TypeError} When it would break the message. */
export function expectValue(value: string): string {
  if (isFieldValue(value)) return value;
  throw new TypeError("the authorizer sets a header to an invalid value");
}

/** Returns a status for the client; 403 in place of what a denied request cannot have. */
export function deniedStatus(status: number): number {
  return status >= 200 && status <= 599 ? status : 403;
}

/** Applies the changes of an authorizer to the headers of a request. */
export function applyChanges(
  headers: HeaderList,
  { changes, removed }: AllowedRequest,
): void {
  for (const name of removed) headers.delete(name);
  for (const { name, value, action } of changes) {
    const isPresent = headers.has(name);
    if (action === "append" || action === "addIfAbsent" && !isPresent) {
      headers.append(name, value);
    } else if (action === "set" || action === "setIfPresent" && isPresent) {
      headers.set(name, value);
    }
  }
}
