import { createPrivateKey, type KeyObject, sign } from "node:crypto";
import { isJsonObject, parseJson, stringMember } from "../../base/json.ts";
import {
  type Authorization,
  keyHeader,
  type ProviderPlace,
} from "./llm_provider.ts";

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const LIFETIME_S = 3600;
/** A token is replaced this long before it expires. */
const MARGIN_MS = 300_000;

/**
 * Authorizes requests to Google Cloud with the key file of a service account, or with an access token.
 *
 * A service account signs its tokens itself, without a request for them (Google AIP-4111).
 */
export function googleAuthorization(
  text: string,
  place: ProviderPlace,
): Authorization {
  const account = parseJson(text);
  if (!isJsonObject(account)) {
    return keyHeader("authorization", "Bearer ")(text, place);
  }
  const email = stringMember(account, "client_email");
  const keyId = stringMember(account, "private_key_id");
  const pem = stringMember(account, "private_key");
  if (email === undefined || pem === undefined) {
    throw new TypeError(
      'it has no "client_email" and "private_key" of a service account',
    );
  }
  const key = parseKey(pem);
  let token = "";
  let renewAt = 0;
  return {
    apply({ headers }, now) {
      if (now >= renewAt) {
        token = createToken({ email, keyId, key, now });
        renewAt = now + LIFETIME_S * 1000 - MARGIN_MS;
      }
      headers.set("authorization", `Bearer ${token}`);
    },
  };
}

// Without the cause, which might quote the key.
function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new TypeError('its "private_key" is not PEM');
  }
}

function createToken(
  { email, keyId, key, now }: {
    readonly email: string;
    readonly keyId: string | undefined;
    readonly key: KeyObject;
    readonly now: number;
  },
): string {
  const issuedAt = Math.floor(now / 1000);
  const header = { alg: "RS256", typ: "JWT", ...(keyId && { kid: keyId }) };
  const claims = {
    iss: email,
    sub: email,
    scope: SCOPE,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_S,
  };
  const content = `${encode(header)}.${encode(claims)}`;
  const signature = sign("RSA-SHA256", new TextEncoder().encode(content), key);
  return `${content}.${signature.toString("base64url")}`;
}

function encode(value: unknown): string {
  return new TextEncoder().encode(JSON.stringify(value))
    .toBase64({ alphabet: "base64url", omitPadding: true });
}
