import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { VaultId, VaultSeal } from "../vault/vault_seal.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import type { GatewayUser } from "./user_login.ts";

/** The request that a link makes of its user. */
export interface ConnectionRequest {
  /** Key of the backend. */
  readonly backend: string;
  /** The only user who can use the link. */
  readonly user: GatewayUser;
  /** Scopes that the backend has asked for. */
  readonly scopes: readonly string[];
}

/** Dependencies of links. */
export interface ConnectionLinksOptions {
  readonly seal: VaultSeal;
  readonly clock: Clock;
  /** URL of the pages, without a slash at its end. */
  readonly url: string;
}

const LINK_MS = 60 * 60_000;

/**
 * Links with which clients send their users to the page of a backend. A link says whom it is for, but gives no rights: the page has
 * its user log in at the gateway, and nobody else can go on.
 */
export class ConnectionLinks {
  readonly #options: ConnectionLinksOptions;

  constructor(options: ConnectionLinksOptions) {
    this.#options = options;
  }

  /** Returns a link that is valid for an hour. */
  urlFor(
    { backend }: UserLogin,
    { issuer, subject }: GatewayUser,
    scopes: readonly string[],
  ): string {
    const { clock, url } = this.#options;
    const request = this.seal("link", {
      backend,
      issuer,
      subject,
      scopes,
      expiresAt: clock.now() + LINK_MS,
    });
    return `${url}/connect?request=${request}`;
  }

  /** Reads the request of a link; `undefined` if it is forged or too old. */
  read(sealed: string): ConnectionRequest | undefined {
    const request = readMembers(this.open("link", sealed), {
      backend: "string",
      issuer: "string",
      subject: "string",
      scopes: "strings",
    });
    if (request === undefined) return undefined;
    const { backend, issuer, subject, scopes } = request;
    return { backend, user: { issuer, subject }, scopes };
  }

  /** Seals a value with `expiresAt` that only pages of this gateway, or its replicas, open again. */
  seal(purpose: LinkPurpose, value: JsonObject): string {
    return this.#options.seal.seal(idOf(purpose), value);
  }

  /** Opens a value; `undefined` if it is forged, or its time is over. */
  open(purpose: LinkPurpose, sealed: string): JsonObject | undefined {
    const { seal, clock } = this.#options;
    const value = seal.open(idOf(purpose), sealed)?.value;
    const { expiresAt } = value ?? {};
    return typeof expiresAt === "number" && clock.now() < expiresAt
      ? value
      : undefined;
  }
}

/** A value for one purpose does not open for another. */
type LinkPurpose = "link" | "login" | "session";

function idOf(purpose: LinkPurpose): VaultId {
  const client = `connections: ${purpose}`;
  return { issuer: "", subject: "", server: "", resource: "", client };
}
