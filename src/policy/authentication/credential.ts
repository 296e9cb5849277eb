import type { CredentialLocation } from "../contract/credential_location.ts";
import { GatewayError } from "../../base/errors.ts";
import type { HeaderList } from "../../http/header_list.ts";
import type { RequestMessage } from "../../http/message.ts";

type Carrier = Pick<RequestMessage, "headers" | "target">;

/** A place of a credential in a request. */
export interface CredentialPlace {
  /**
   * Returns the credential; `undefined` when there is none, or a field with another prefix, such as another authentication scheme.
   * @throws {GatewayError} `bad_request` when there are two: servers may disagree on which one counts.
   */
  read(request: Carrier): string | undefined;
  /** Removes the credential, so that it does not go upstream. */
  remove(request: Carrier): void;
}

/** Place of OAuth tokens: `Authorization: Bearer …`. */
const bearerLocation: CredentialLocation = {
  header: { name: "authorization", prefix: "Bearer " },
};

/** The default places of API keys, where the SDKs of OpenAI and Anthropic send them. */
const apiKeyLocations: readonly CredentialLocation[] = [
  bearerLocation,
  { header: { name: "x-api-key" } },
];

/** Creates the place for a location of the configuration. */
export function credentialPlace(
  location: CredentialLocation = bearerLocation,
): CredentialPlace {
  const { header, queryParameter, cookie } = location;
  if (header !== undefined) return inHeader(header.name, header.prefix ?? "");
  if (queryParameter !== undefined) return inQuery(queryParameter.name);
  return inCookie(cookie?.name ?? "");
}

/** Creates the place of API keys; without a location, a key may be in either default place, or the same one in both. */
export function apiKeyPlace(
  location: CredentialLocation | undefined,
): CredentialPlace {
  if (location !== undefined) return credentialPlace(location);
  const places = apiKeyLocations.map(credentialPlace);
  return {
    read(request) {
      const found = places.map((place) => place.read(request));
      return single([...new Set(found.filter((key) => key !== undefined))]);
    },
    remove(request) {
      // A password in `Authorization` stays for the policy that reads it.
      for (const place of places) {
        if (place.read(request) !== undefined) place.remove(request);
      }
    },
  };
}

function inHeader(spelled: string, prefix: string): CredentialPlace {
  const name = spelled.toLowerCase();
  const lowerPrefix = prefix.toLowerCase();
  return {
    read({ headers }) {
      const value = single(headers.getAll(name));
      if (value === undefined) return undefined;
      // Tokens are long: only the prefix is compared in lower case.
      const start = value.slice(0, prefix.length).toLowerCase();
      if (start !== lowerPrefix) return undefined;
      return present(value.slice(prefix.length).trim());
    },
    remove: ({ headers }) => headers.delete(name),
  };
}

function inQuery(name: string): CredentialPlace {
  const isOurs = (pair: string) => decodeQuery(splitAt(pair, "=")[0]) === name;
  return {
    read({ target }) {
      const [, query] = splitAt(target, "?");
      const pair = single(query.split("&").filter(isOurs));
      return present(decodeQuery(splitAt(pair ?? "", "=")[1]));
    },
    remove(request) {
      const [path, query] = splitAt(request.target, "?");
      const rest = query.split("&").filter((pair) => !isOurs(pair)).join("&");
      request.target = rest === "" ? path : `${path}?${rest}`;
    },
  };
}

function inCookie(name: string): CredentialPlace {
  const isOurs = (pair: string) => splitAt(pair, "=")[0].trim() === name;
  return {
    read({ headers }) {
      const pair = single(cookies(headers).filter(isOurs));
      return present(unquote(splitAt(pair ?? "", "=")[1].trim()));
    },
    remove({ headers }) {
      const rest = cookies(headers).filter((pair) => !isOurs(pair));
      if (rest.length === 0) headers.delete("cookie");
      else headers.set("cookie", rest.join("; "));
    },
  };
}

function cookies(headers: HeaderList): string[] {
  return headers.getAll("cookie").flatMap((field) => field.split(";"))
    .map((pair) => pair.trim()).filter((pair) => pair !== "");
}

function single(found: readonly string[]): string | undefined {
  if (found.length < 2) return found[0];
  throw new GatewayError(
    "bad_request",
    "downstream",
    "Cannot accept two credentials in one request",
  );
}

/** Returns `undefined` for an empty credential. */
function present(text: string): string | undefined {
  return text === "" ? undefined : text;
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0
    ? [text, ""]
    : [text.slice(0, index), text.slice(index + separator.length)];
}

/** Decodes the encoding of HTML forms; a malformed string is returned unchanged. */
function decodeQuery(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

function unquote(value: string): string {
  return /^".*"$/s.test(value) ? value.slice(1, -1) : value;
}
