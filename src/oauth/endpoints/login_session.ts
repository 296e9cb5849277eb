import type { HeaderList } from "../../http/header_list.ts";
import { type JsonObject, stringMember } from "../../base/json.ts";
import { type Seal, sha256 } from "../protocol/seal.ts";

/** A login in progress: the client's request and the state that completes it. Kept in a sealed cookie. */
export interface LoginSession {
  /** Fingerprint of the client. */
  readonly client: string;
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** S256 challenge of the client's PKCE verifier. */
  readonly challenge: string;
  readonly scope: string | undefined;
  /** Issuer for the client: the URL of the MCP server. */
  readonly issuer: string;
  /** PKCE verifier of the gateway towards the provider. */
  readonly verifier: string;
  /** True once the user has agreed that this client may log in. */
  readonly approved: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const LOGIN_PREFIX = "__Host-mcp-login-";
const CONSENT_NAME = "__Host-mcp-consent";
const MAX_COOKIE_LENGTH = 3800;
const MAX_LOGINS = 5;
const MAX_CONSENTS = 50;
/** Time that a user has to log in. */
export const LOGIN_MS = 10 * 60_000;
const CONSENT_MS = 30 * 24 * 60 * 60_000;

/** Login cookies of a request, by name. */
export type Cookies = ReadonlyMap<string, string>;

/** Reads the login cookies of a request. */
export function readLoginCookies(headers: HeaderList): Cookies {
  const cookies = new Map<string, string>();
  for (const field of headers.getAll("cookie")) {
    for (const pair of field.split(";")) {
      const at = pair.indexOf("=");
      const name = pair.slice(0, Math.max(at, 0)).trim();
      if (!name.startsWith("__Host-mcp-")) continue;
      // A second cookie with the same name was set by another program on this host.
      cookies.set(name, cookies.has(name) ? "" : pair.slice(at + 1).trim());
    }
  }
  return cookies;
}

/** Returns the `Set-Cookie` values that start or update a login; `undefined` when it is too long for a cookie. */
export function writeLogin(
  id: string,
  session: LoginSession,
  { seal, cookies }: { readonly seal: Seal; readonly cookies: Cookies },
): string[] | undefined {
  const sealed = seal.seal("login", { id, ...session });
  if (sealed.length > MAX_COOKIE_LENGTH) return undefined;
  const others = [...cookies.keys()].filter((name) =>
    name.startsWith(LOGIN_PREFIX) && name !== LOGIN_PREFIX + id
  );
  return [
    cookie(LOGIN_PREFIX + id, sealed, LOGIN_MS),
    ...others.slice(0, Math.max(0, others.length - MAX_LOGINS + 1))
      .map((name) => cookie(name, "", 0)),
  ];
}

/** Returns the login with this ID from the cookies; `undefined` when there is none, or it has expired. */
export function readLogin(
  id: string | undefined,
  { seal, cookies, nowMs }: {
    readonly seal: Seal;
    readonly cookies: Cookies;
    readonly nowMs: number;
  },
): LoginSession | undefined {
  const sealed = cookies.get(LOGIN_PREFIX + id);
  if (sealed === undefined) return undefined;
  const value = seal.open("login", sealed);
  if (value === undefined || value["id"] !== id) return undefined;
  const session = decodeLogin(value);
  return session !== undefined && nowMs < session.expiresAt
    ? session
    : undefined;
}

/** Returns the `Set-Cookie` value that ends a login. */
export function endLogin(id: string): string {
  return cookie(LOGIN_PREFIX + id, "", 0);
}

/** Returns whether the cookies have the user's earlier consent to this client with this redirect URI. */
export function hasConsent(consent: string, options: ConsentOptions): boolean {
  return consentsOf(options).some(([known]) => known === consent);
}

/** Returns the `Set-Cookie` value that keeps the user's consent for 30 days. */
export function rememberConsent(
  consent: string,
  options: ConsentOptions,
): string {
  const others = consentsOf(options).filter(([known]) => known !== consent);
  const all = [[consent, options.nowMs + CONSENT_MS], ...others]
    .slice(0, MAX_CONSENTS);
  return cookie(
    CONSENT_NAME,
    options.seal.seal("consent", { issuer: options.issuer, all }),
    CONSENT_MS,
  );
}

/** Identifies a consent, to a client with a redirect URI (any port on loopback), in 22 characters. */
export function consentKey(client: string, redirectUri: string): string {
  return sha256(`${client} ${redirectUri}`).slice(0, 22);
}

interface ConsentOptions {
  readonly seal: Seal;
  readonly cookies: Cookies;
  readonly issuer: string;
  readonly nowMs: number;
}

function consentsOf(
  { seal, cookies, issuer, nowMs }: ConsentOptions,
): readonly (readonly [string, number])[] {
  const value = seal.open("consent", cookies.get(CONSENT_NAME) ?? "");
  if (value?.["issuer"] !== issuer || !Array.isArray(value["all"])) return [];
  return value["all"].flatMap((each: unknown) =>
    Array.isArray(each) && typeof each[0] === "string" &&
      typeof each[1] === "number" && nowMs < each[1]
      ? [[each[0], each[1]] as const]
      : []
  );
}

/** `Lax`, because the provider's redirect to the callback is a navigation from another site. */
function cookie(name: string, value: string, lifetimeMs: number): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${
    Math.floor(lifetimeMs / 1000)
  }`;
}

function decodeLogin(value: JsonObject): LoginSession | undefined {
  const client = stringMember(value, "client");
  const redirectUri = stringMember(value, "redirectUri");
  const challenge = stringMember(value, "challenge");
  const issuer = stringMember(value, "issuer");
  const verifier = stringMember(value, "verifier");
  const { approved, expiresAt } = value;
  if (
    client === undefined || redirectUri === undefined ||
    challenge === undefined || issuer === undefined ||
    verifier === undefined || typeof approved !== "boolean" ||
    typeof expiresAt !== "number"
  ) return undefined;
  return {
    client,
    redirectUri,
    state: stringMember(value, "state"),
    challenge,
    scope: stringMember(value, "scope"),
    issuer,
    verifier,
    approved,
    expiresAt,
  };
}
