import type { JsonObject } from "../../base/json.ts";
import { readMembers } from "../../base/json/decode_members.ts";
import type { ClientAuthentication } from "../backend_tokens/backend_credentials.ts";
import type { IssuedToken } from "../backend_tokens/oauth_library.ts";
import { ProofKey } from "../backend_tokens/proof_key.ts";
import type {
  LoginClient,
  UserLogin,
} from "../backend_tokens/backend_credentials.ts";

/** Client, server and scopes of a grant, from the start of the login. */
export interface GrantFacts {
  readonly scopes: readonly string[];
  /** Authorization server. */
  readonly issuer: string;
  /** `resource` of token requests (RFC 8707). */
  readonly resource: string;
  readonly clientId: string;
  /** Secret that the server has given a registered client. */
  readonly clientSecret: string | undefined;
  /** Key that the tokens are bound to; `undefined` for whoever bears them. */
  readonly proofKey: ProofKey | undefined;
}

/** A grant of a user to the gateway at the authorization server of a backend. */
export interface Connection extends GrantFacts {
  readonly token: string;
  /** Milliseconds since the epoch; `undefined` if the server does not say it. */
  readonly endsAt: number | undefined;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch. */
  readonly connectedAt: number;
}

/** A token that can be renewed is renewed so long before its end. */
const MARGIN_MS = 60_000;

/** A response of the token endpoint. */
export interface Grant extends IssuedToken {
  readonly refreshToken: string | undefined;
  /** `undefined` if they are those that were requested. */
  readonly scopes: readonly string[] | undefined;
}

/** Returns a connection with the tokens of a grant. A server that sends no refresh token means the one before. */
export function withGrant(
  connection: Omit<Connection, "token" | "endsAt">,
  { token, lifetimeMs, refreshToken, scopes }: Grant,
  now: number,
): Connection {
  return {
    ...connection,
    token,
    endsAt: lifetimeMs === undefined ? undefined : now + lifetimeMs,
    refreshToken: refreshToken ?? connection.refreshToken,
    scopes: scopes ?? connection.scopes,
  };
}

/** Reports whether a connection needs no new token. @param rejected A token that the backend does not accept. */
export function isFresh(
  { token, endsAt, refreshToken }: Connection,
  rejected: string | undefined,
  now: number,
): boolean {
  const marginMs = refreshToken === undefined ? 0 : MARGIN_MS;
  return token !== rejected &&
    (endsAt === undefined || now < endsAt - marginMs);
}

/** Reports whether the user of a connection has to log in again: its token has ended, and cannot be renewed. */
export function isOver(
  { endsAt = Infinity, refreshToken }: Connection,
  now: number,
): boolean {
  return refreshToken === undefined && now >= endsAt;
}

/** Reports whether the token of a connection can still be used. */
export function isUsable(
  { token, endsAt }: Connection,
  rejected: string | undefined,
  now: number,
): boolean {
  return token !== rejected && (endsAt === undefined || now < endsAt);
}

/** Returns the client of a connection: secrets of the configuration are never in the vault. */
export function clientOf(
  { client }: UserLogin,
  { clientId, clientSecret }: Pick<Connection, "clientId" | "clientSecret">,
): LoginClient {
  if (client !== undefined) return client;
  const authentication: ClientAuthentication = clientSecret === undefined
    ? { method: "none" }
    : { method: "secret", secret: clientSecret, place: undefined };
  return { clientId, authentication };
}

/** Returns the record of a connection. */
export function writeConnection(connection: Connection): JsonObject {
  const { proofKey, ...more } = connection;
  return { ...more, proofKey: proofKey?.write() };
}

/** Reads a record; `undefined` if it is none. */
export function readConnection(value: JsonObject): Connection | undefined {
  const facts = readGrantFacts(value);
  const connection = readMembers(
    value,
    { token: "string", connectedAt: "number" },
    { endsAt: "number", refreshToken: "string" },
  );
  return facts && connection && { ...facts, ...connection };
}

/** Reads a record of a login or of a connection; `undefined` if it is none. */
export function readGrantFacts(value: JsonObject): GrantFacts | undefined {
  const facts = readMembers(value, {
    scopes: "strings",
    issuer: "string",
    resource: "string",
    clientId: "string",
  }, { clientSecret: "string" });
  const { proofKey } = value;
  return facts && {
    ...facts,
    proofKey: proofKey === undefined ? undefined : ProofKey.read(proofKey),
  };
}
