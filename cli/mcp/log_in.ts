import { systemClock } from "../../src/base/clock.ts";
import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";
import { type JsonObject, stringMember } from "../../src/base/json.ts";
import { authorizationUrl } from "./inspect_authorization.ts";
import { describeProbe, probe } from "./probe.ts";

/** A failed login; the message is for the user. */
export class LoginError extends Error {
  override readonly name = "LoginError";

  constructor(
    readonly id: "login-failed" | "iss-mismatch" | "token-refused",
    message: string,
  ) {
    super(message);
  }
}

/** A client that is about to log in. */
export interface Login {
  /** Metadata of the authorization server. */
  readonly document: JsonObject;
  /** Issuer in the resource metadata. */
  readonly issuer: string;
  readonly clientId: string;
  readonly resource: string;
  readonly scope: string | undefined;
}

/** Tokens of a user. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch; `undefined` when unknown. */
  readonly expiresAt: number | undefined;
}

/** Waits at a loopback port for the provider's redirect. */
export interface CallbackListener extends AsyncDisposable {
  readonly redirectUri: string;
  readonly callback: Promise<URL>;
}

const PAGE = `<!doctype html><meta charset="utf-8"><title>gwctl</title>
<p>You can close this page and go back to the terminal.`;

/** Listens on an ephemeral loopback port. */
export function listenForCallback(): CallbackListener {
  const { promise, resolve } = Promise.withResolvers<URL>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const url = new URL(request.url);
      if (url.pathname !== "/callback") {
        return new Response(null, { status: 404 });
      }
      resolve(url);
      return new Response(PAGE, {
        headers: { "content-type": "text/html; charset=utf-8" },
      });
    },
  );
  return {
    redirectUri: `http://127.0.0.1:${server.addr.port}/callback`,
    callback: promise,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/**
 * Logs the user in with the browser, as strict clients do.
 * @param open Opens a URL in the browser.
 * @throws {LoginError | ProbeError}
 */
export async function logIn(
  login: Login,
  listener: CallbackListener,
  open: (url: string) => Promise<void>,
): Promise<Tokens> {
  const verifier = randomText();
  const state = randomText();
  const url = authorizationUrl(login.document, {
    ...login,
    redirectUri: listener.redirectUri,
    challenge: createHash("sha256").update(verifier).digest("base64url"),
    state,
  });
  if (url === undefined) {
    throw new LoginError("login-failed", "no authorization endpoint");
  }
  await open(url.href);
  const { searchParams } = await listener.callback;
  if (searchParams.get("state") !== state) {
    throw new LoginError("login-failed", "the callback has another state");
  }
  expectIssuer(login, searchParams.get("iss"));
  const code = searchParams.get("code");
  if (code === null) {
    throw new LoginError(
      "login-failed",
      `the callback has no code but error ${searchParams.get("error")}: ${
        searchParams.get("error_description") ?? "no description"
      }`,
    );
  }
  return await requestTokens(login, {
    grant_type: "authorization_code",
    code,
    redirect_uri: listener.redirectUri,
    code_verifier: verifier,
  });
}

/** Gets new tokens with a refresh token. @throws {LoginError | ProbeError} */
export async function refreshTokens(
  login: Login,
  refreshToken: string,
): Promise<Tokens> {
  const tokens = await requestTokens(login, {
    grant_type: "refresh_token",
    refresh_token: refreshToken,
  });
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
}

/** Compares `iss` (RFC 9207 section 2.4), as strict clients do even if the metadata does not announce it. */
function expectIssuer(
  { document, issuer }: Login,
  actual: string | null,
): void {
  const isPromised =
    document["authorization_response_iss_parameter_supported"] === true;
  if (actual === null ? !isPromised : actual === issuer) return;
  throw new LoginError(
    "iss-mismatch",
    `the callback has iss ${actual ?? "missing"}, expected ${issuer}`,
  );
}

async function requestTokens(
  { document, clientId, resource }: Login,
  form: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const endpoint = stringMember(document, "token_endpoint") ?? "";
  const response = await probe(endpoint, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ ...form, client_id: clientId, resource }),
  });
  const { json = {} } = response;
  const accessToken = stringMember(json, "access_token");
  if (response.status !== 200 || accessToken === undefined) {
    throw new LoginError(
      "login-failed",
      `the token endpoint responds with ${describeProbe(response)}: ${
        stringMember(json, "error_description") ?? "no description"
      }`,
    );
  }
  const { expires_in: expiresIn } = json;
  return {
    accessToken,
    refreshToken: stringMember(json, "refresh_token"),
    expiresAt: typeof expiresIn === "number"
      ? systemClock.now() + expiresIn * 1000
      : undefined,
  };
}

function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32)))
    .toString("base64url");
}
