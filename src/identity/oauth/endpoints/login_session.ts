import type { HeaderList } from "../../../http/header_list.ts";
import {
  readOwnCookies,
  removeOwnCookies,
  setCookie,
} from "../../../http/own_cookies.ts";
import type { JsonObject } from "../../../base/json.ts";
import { readMembers } from "../../../base/json/decode_members.ts";
import {
  type ClientLogin,
  readClientLogin,
} from "../grants/authorization_code.ts";
import { MAX_SCOPE_LENGTH } from "../protocol/oauth_parameters.ts";
import { type Seal, sha256 } from "../protocol/seal.ts";

/** A login in progress: the client's request and the state that completes it. Kept in a sealed cookie. */
export interface LoginSession extends ClientLogin {
  readonly state: string | undefined;
  /** True once the user has agreed that this client may log in. */
  readonly approved: boolean;
}

/** Start of the names of all cookies of the gateway. */
const COOKIE_PREFIX = "__Host-mcp-";
const LOGIN_PREFIX = `${COOKIE_PREFIX}login-`;
const CONSENT_NAME = `${COOKIE_PREFIX}consent`;
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
  return readOwnCookies(headers, COOKIE_PREFIX);
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
    setCookie(LOGIN_PREFIX + id, sealed, LOGIN_MS),
    ...others.slice(0, Math.max(0, others.length - MAX_LOGINS + 1))
      .map((name) => setCookie(name, "", 0)),
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
  return setCookie(LOGIN_PREFIX + id, "", 0);
}

/** Returns whether the cookies have the user's earlier consent to this client, with this redirect URI and at least these scopes. */
export function hasConsent(consent: Consent, options: ConsentOptions): boolean {
  const known = consentsOf(options).find(({ key }) => key === consent.key);
  return known !== undefined &&
    consent.scopes.every((scope) => known.scopes.includes(scope));
}

/** Returns the `Set-Cookie` value that keeps the user's consent for 30 days. */
export function rememberConsent(
  { key, scopes }: Consent,
  options: ConsentOptions,
): string {
  const known = consentsOf(options);
  const earlier = known.find((each) => each.key === key)?.scopes ?? [];
  const all = [...new Set([...scopes, ...earlier])];
  const isShort = all.join(" ").length <= MAX_SCOPE_LENGTH;
  const kept = [
    {
      key,
      scopes: isShort ? all : scopes,
      expiresAt: options.nowMs + CONSENT_MS,
    },
    ...known.filter((each) => each.key !== key),
  ].slice(0, MAX_CONSENTS);
  return setCookie(CONSENT_NAME, sealConsents(kept, options), CONSENT_MS);
}

/** Seals as many consents as fit into a cookie, the newest first. */
function sealConsents(
  consents: readonly KnownConsent[],
  { seal, issuer }: ConsentOptions,
): string {
  const all = consents.map(({ key, expiresAt, scopes }) =>
    [key, expiresAt, scopes.join(" ")] as const
  );
  for (;;) {
    const sealed = seal.seal("consent", { issuer, all });
    if (sealed.length <= MAX_COOKIE_LENGTH || all.length === 1) return sealed;
    all.pop();
  }
}

/** A consent to a client with a redirect URI, on any port of loopback, and scopes. */
export interface Consent {
  /** Identifies client and redirect URI in 22 characters. */
  readonly key: string;
  readonly scopes: readonly string[];
}

/** Returns the consent that a login needs. */
export function consentTo(
  client: string,
  redirectUri: string,
  scope: string | undefined,
): Consent {
  return {
    key: sha256(`${client} ${redirectUri}`).slice(0, 22),
    scopes: scope?.split(" ") ?? [],
  };
}

interface KnownConsent extends Consent {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface ConsentOptions {
  readonly seal: Seal;
  readonly cookies: Cookies;
  readonly issuer: string;
  readonly nowMs: number;
}

function consentsOf(
  { seal, cookies, issuer, nowMs }: ConsentOptions,
): readonly KnownConsent[] {
  const value = seal.open("consent", cookies.get(CONSENT_NAME) ?? "");
  if (value?.["issuer"] !== issuer || !Array.isArray(value["all"])) return [];
  return value["all"].flatMap((each: unknown) => {
    if (!Array.isArray(each)) return [];
    const [key, expiresAt, scopes] = each;
    return typeof key === "string" && typeof expiresAt === "number" &&
        typeof scopes === "string" && nowMs < expiresAt
      ? [{ key, expiresAt, scopes: scopes.split(" ") }]
      : [];
  });
}

/** Removes the cookies of logins, which are for the gateway alone, from a request that goes upstream. */
export function removeLoginCookies(headers: HeaderList): void {
  removeOwnCookies(headers, COOKIE_PREFIX);
}

function decodeLogin(value: JsonObject): LoginSession | undefined {
  const login = readClientLogin(value);
  const own = readMembers(value, { approved: "boolean" }, { state: "string" });
  return login && own && { ...login, ...own };
}
