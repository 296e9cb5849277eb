import type { HeaderList } from "../../http/header_list.ts";
import {
  readOwnCookies,
  removeOwnCookies,
  setCookie,
} from "../../http/own_cookies.ts";

/** Start of the names of all cookies of browser logins; with `__Host-`, no other host can set them. */
const PREFIX = "__Host-oidc-";
/** Browsers keep 4096 characters of a cookie, its name and attributes included (RFC 6265bis section 5.7). */
const MAX_PART_LENGTH = 3800;
const MAX_PARTS = 4;
/** Logins in other tabs that a browser may have under way. */
const MAX_LOGINS = 5;
const EXPIRED = 0;

/** Cookies of a request, by name, of browser logins only; those that are there twice were set by another program, and are empty. */
export type LoginCookies = ReadonlyMap<string, string>;

/** Names of the cookies of one login. */
export class CookieNames {
  readonly #session: string;
  readonly #login: string;

  /** @param name Letters and digits that no other login has. */
  constructor(name: string) {
    this.#session = `${PREFIX}${name}`;
    this.#login = `${PREFIX}${name}-login-`;
  }

  /** Names of the cookies that a session may have. */
  get ofSession(): readonly string[] {
    return Array.from({ length: MAX_PARTS }, (_, part) => this.#part(part));
  }

  /** Returns the value of the session; `undefined` without one. */
  session(cookies: LoginCookies): string | undefined {
    const first = cookies.get(this.#session);
    const [, count = "", start = ""] = /^([1-4])\.(.*)$/.exec(first ?? "") ??
      [];
    if (count === "") return undefined;
    const rest = Array.from(
      { length: Number(count) - 1 },
      (_, part) => cookies.get(this.#part(part + 1)) ?? "",
    );
    return rest.includes("") ? undefined : [start, ...rest].join("");
  }

  /** Returns the `Set-Cookie` values of a session; `undefined` when it is too long. */
  setSession(
    value: string,
    lifetimeMs: number,
    cookies: LoginCookies,
  ): readonly string[] | undefined {
    const count = Math.ceil(value.length / MAX_PART_LENGTH);
    if (count > MAX_PARTS) return undefined;
    return this.ofSession.flatMap((name, part) => {
      const start = part * MAX_PART_LENGTH;
      const text = value.slice(start, start + MAX_PART_LENGTH);
      if (text === "") return cookies.has(name) ? [setCookie(name, "", 0)] : [];
      const content = part === 0 ? `${count}.${text}` : text;
      return [setCookie(name, content, lifetimeMs)];
    });
  }

  /** Returns the `Set-Cookie` values that end a session. */
  endSession(cookies: LoginCookies): readonly string[] {
    return this.ofSession.filter((name) => cookies.has(name))
      .map((name) => setCookie(name, "", EXPIRED));
  }

  /** Returns the login that was started with a state; `undefined` without one. */
  login(state: string, cookies: LoginCookies): string | undefined {
    return cookies.get(this.#login + idOf(state));
  }

  /** Returns the `Set-Cookie` values of a login that starts; the oldest of too many ends. */
  startLogin(
    state: string,
    value: string,
    { lifetimeMs, cookies }: {
      readonly lifetimeMs: number;
      readonly cookies: LoginCookies;
    },
  ): readonly string[] {
    const others = [...cookies.keys()]
      .filter((name) => name.startsWith(this.#login));
    return [
      setCookie(this.#login + idOf(state), value, lifetimeMs),
      ...others.slice(0, Math.max(0, others.length - MAX_LOGINS + 1))
        .map((name) => setCookie(name, "", EXPIRED)),
    ];
  }

  /** Returns the `Set-Cookie` value that ends a login. */
  endLogin(state: string): string {
    return setCookie(this.#login + idOf(state), "", EXPIRED);
  }

  #part(part: number): string {
    return part === 0 ? this.#session : `${this.#session}.${part}`;
  }
}

/** Reads the cookies of browser logins. */
export function readLoginCookies(headers: HeaderList): LoginCookies {
  return readOwnCookies(headers, PREFIX);
}

/** Removes the cookies of browser logins, with which a backend could act as the user, from a request that goes upstream. */
export function removeLoginCookies(headers: HeaderList): void {
  removeOwnCookies(headers, PREFIX);
}

/** Removes fields of a response with which a backend would log the user in as somebody else. */
export function removeForeignLogins(headers: HeaderList): void {
  const fields = headers.getAll("set-cookie");
  if (!fields.some((field) => field.includes(PREFIX))) return;
  headers.delete("set-cookie");
  for (const field of fields) {
    // A cookie without a name, `=__Host-…`, is sent back without the sign.
    if (!field.replace(/^[\s=]+/, "").startsWith(PREFIX)) {
      headers.append("set-cookie", field);
    }
  }
}

/** Tells the logins of a browser apart. */
function idOf(state: string): string {
  return state.replace(/[^\w-]/g, "").slice(0, 8);
}
