import type { UserLogin } from "../backend_tokens/backend_credentials.ts";

/** A user of the gateway. Only issuer and subject together name one; neither is empty. */
export interface GatewayUser {
  readonly issuer: string;
  readonly subject: string;
}

/** Returns the name of a backend for people, such as `tools#crm`. */
export function titleOf({ backend }: Pick<UserLogin, "backend">): string {
  return backend.replace(/^default\//, "").replace("#", " · ");
}

/** Returns the part of the path that is special to a backend, such as `default/tools/crm`. */
export function pathOf({ backend }: Pick<UserLogin, "backend">): string {
  return backend.split(/[/#]/).map(encodeURIComponent).join("/");
}

/** Reports whether two are the same user. */
export function isSame(one: GatewayUser, other: GatewayUser): boolean {
  return one.issuer === other.issuer && one.subject === other.subject;
}
