/** The attacks of RFC 9700 section 4, each with the tests that make it; docs/mcp_login_reference.md has what the gateway does. */
import assert from "node:assert/strict";
import { tableRows } from "./documents.ts";
import { readFile } from "./repository.ts";

const logins = "tests/e2e/login/login_attacks_test.ts";
const proxied = "tests/e2e/login/proxied_login_test.ts";
const dpop = "tests/e2e/login/dpop_test.ts";
const pages = "tests/e2e/connections/connection_attacks_test.ts";
const accounts = "tests/e2e/connections/connections_test.ts";
const tokens = "tests/e2e/login/jwt/jwt_test.ts";

/** Beginnings of the names of tests, by section and file. */
const attacks: Readonly<
  Record<string, readonly (readonly [string, string])[]>
> = {
  "4.1 redirect URIs": [
    [logins, "redirect URI trick: registration of"],
    [logins, "redirect URI trick: two of them"],
    [proxied, "clients register redirect URIs of every kind that cannot"],
  ],
  "4.2 leaks in Referer": [
    [pages, "pages cannot be framed, cookies are the gateway's"],
  ],
  "4.3 leaks in the history": [
    [tokens, "a token in the query is no token"],
    [logins, "code replay"],
  ],
  "4.4 mix-up": [
    [logins, "mix-up: a response of"],
    [pages, "wrong states, replayed callbacks and answers of other issuers"],
    [pages, "an error of a foreign issuer is not shown"],
  ],
  "4.5 code injection": [
    [logins, "code injection: the victim's code at the attacker's client"],
    [logins, "code injection: the attacker's code in the victim's session"],
    [pages, "a callback in the browser of somebody else connects nobody"],
  ],
  "4.6 token injection": [
    [tokens, "a token for another server of the same provider is rejected"],
    [
      "tests/e2e/login/jwt/jwt_providers_test.ts",
      "no token of one provider passes as one of the other",
    ],
  ],
  "4.7 cross-site requests": [
    [logins, "CSRF on the callback: the attacker's login"],
    [logins, "CSRF on the consent: the answer comes"],
    [pages, "forms of other pages, and of other sessions, change nothing"],
  ],
  "4.8 PKCE downgrade": [
    [logins, "PKCE downgrade: no verifier"],
    [pages, "users are not sent to an authorization server without PKCE"],
  ],
  "4.9 leaks at the service": [
    [tokens, "a valid token passes and is not forwarded to the MCP server"],
    [
      "tests/e2e/secrets/user_tokens_test.ts",
      "are nowhere in clear: store, logs, traces, metrics",
    ],
  ],
  "4.10 stolen access tokens": [
    [dpop, "a bound token is no bearer token"],
    [dpop, "a proof is accepted once in"],
    [
      "tests/e2e/login/certificate_bound_test.ts",
      "a token that is bound to a certificate is for its client alone",
    ],
  ],
  "4.11 open redirects": [
    [logins, "open redirect: an address that nobody registered"],
    [proxied, "an error leads to an unknown address only by a click"],
    [pages, "login leads to no other site"],
  ],
  "4.12 307 redirects": [
    [logins, "CSRF on the callback: before the user has consented"],
  ],
  "4.13 reverse proxies": [
    [
      "tests/e2e/login/jwt/jwt_metadata_test.ts",
      "invalid values of a trusted proxy are ignored",
    ],
    [dpop, "a request needs exactly one proof"],
  ],
  "4.14 refresh tokens": [
    [logins, "a stolen refresh token at another client"],
    [proxied, "a refresh token that is used again after its successor ends"],
    [accounts, "a token that ends is renewed once"],
  ],
  "4.15 clients as users": [
    [
      "tests/unit/identity/backend_tokens/backend_tokens_test.ts",
      "no two users share a token",
    ],
    [
      "tests/e2e/login/jwt/jwt_providers_test.ts",
      "the same subject of two providers is two clients",
    ],
  ],
  "4.16 clickjacking": [
    [pages, "pages cannot be framed"],
    [logins, "confused deputy: a client with the name of a trusted one"],
  ],
  "4.17 messages between windows": [
    [logins, "PKCE downgrade: an implicit token"],
  ],
};

Deno.test("every attack of RFC 9700 has a test, and the manual says what the gateway does", async () => {
  const rows = tableRows("attack");
  assert.deepEqual(rows.map(([attack]) => attack), Object.keys(attacks));
  assert(rows.every(([, response = ""]) => response.length > 20));
  const missing: string[] = [];
  for (const [file, name] of Object.values(attacks).flat()) {
    if (!(await readFile(file)).includes(name)) {
      missing.push(`${file}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});
