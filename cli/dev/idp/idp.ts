// @ts-types="./oidc_provider.d.ts"
import type { Provider } from "oidc-provider";
import { isJsonObject } from "../../../src/base/json.ts";
import {
  configure,
  hideIssuer,
  type IdpOptions,
  type IdpTraits,
  machine,
  PUBLIC_CLIENT_ID,
} from "./configuration.ts";
import { handleLogin } from "./login_page.ts";
import { type Handler, RestartableServer } from "./restartable_server.ts";
import { createSigningKey } from "./signing_key.ts";

/** A running identity provider on 127.0.0.1: OAuth 2.1 and OpenID Connect of the npm package `oidc-provider`. */
export interface Idp extends AsyncDisposable {
  /** `http://127.0.0.1:41236`. */
  readonly origin: string;
  /** Claim `iss` of tokens, byte for byte. */
  readonly issuer: string;
  /** Path of the keys below `origin`: `/.well-known/jwks.json`. */
  readonly jwksPath: string;
  /** ID of a registered public client with PKCE, whose loopback redirect URIs may have any port. */
  readonly clientId: string;
  /** Gets a token for a machine client, with the client credentials grant. */
  issueMachineToken(audience: string): Promise<string>;
  /** Replaces the signing key, under a new key ID by default; the old one is removed from the keys. */
  rotateKeys(keyId?: "same" | "new"): Promise<void>;
  /** Stops listening: connections are refused. */
  stop(): Promise<void>;
  /** Listens again at the same origin, with the same sessions, clients and keys. */
  start(): Promise<void>;
}

/** Starts the identity provider that `traits` describe. */
export async function startIdp(
  traits: IdpTraits,
  options: IdpOptions,
): Promise<Idp> {
  const { mountPath, issuerPath, jwksPath, tokenPath } = traits;
  const Provider = await (loading ??= loadProvider());
  const configuration = configure(traits, options, new Map());
  let handle: Handler = () => {};
  const server = await RestartableServer.start(
    options.port ?? 0,
    (request, response) => handle(request, response),
  );
  const { origin } = server;
  const issuer = origin + issuerPath;
  let kid: string | undefined;
  async function rotateKeys(keyId: "same" | "new" = "new") {
    const key = await createSigningKey();
    kid = keyId === "same" ? kid ?? key.kid : key.kid;
    const jwks = { keys: [{ ...key, kid }] };
    const provider = new Provider(issuer, { ...configuration, jwks });
    if (!traits.sendsIssuer) provider.use(hideIssuer);
    options.prepare?.(provider);
    handle = createHandler(provider, traits, options.onRequest);
  }
  await rotateKeys();

  return {
    origin,
    issuer,
    jwksPath,
    clientId: PUBLIC_CLIENT_ID,
    issueMachineToken: (audience) =>
      requestMachineToken(
        origin + mountPath + tokenPath,
        { [traits.audienceParameter]: audience },
      ),
    rotateKeys,
    stop: () => server.stop(),
    start: () => server.start(),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

function createHandler(
  provider: Provider,
  { locate, mountPath }: IdpTraits,
  onRequest: (line: string) => void = () => {},
): Handler {
  const handle = provider.callback();
  return (request, response) => {
    const target = request.url ?? "/";
    onRequest(`${request.method} ${target}`);
    const path = addScope(locate(target));
    if (path === undefined) {
      response.statusCode = 404;
      response.end();
    } else if (path.startsWith("/login/")) {
      handleLogin(provider, request, response).catch((error) => {
        response.statusCode = 400;
        response.end(`Cannot log in: ${error}\n`);
      });
    } else {
      // As routers for node:http do: the package derives its mount path from both.
      Object.assign(request, { originalUrl: mountPath + path, url: path });
      handle(request, response);
    }
  };
}

/** The package, loaded on first use: this takes longer than starting the rest of the playground. */
let loading: Promise<typeof Provider> | undefined;

async function loadProvider(): Promise<typeof Provider> {
  // The package warns on every runtime but Node, and has no option against it.
  const { warn } = console;
  // deno-lint-ignore no-console -- As above.
  console.warn = () => {};
  try {
    // @ts-types="./oidc_provider.d.ts"
    const { Provider } = await import("oidc-provider");
    return Provider;
  } finally {
    // deno-lint-ignore no-console -- As above.
    console.warn = warn;
  }
}

/** Adds a scope to requests without one: the package would grant nothing, unlike real providers. */
function addScope(path: string | undefined): string | undefined {
  return path?.startsWith("/authorize?") && !/[?&]scope=[^&]/.test(path)
    ? `${path}&scope=openid`
    : path;
}

async function requestMachineToken(
  endpoint: string,
  audience: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await fetch(endpoint, {
    method: "POST",
    headers: {
      authorization: `Basic ${btoa(`${machine.id}:${machine.secret}`)}`,
    },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      ...audience,
    }),
  });
  const body: unknown = await response.json();
  if (!isJsonObject(body) || typeof body.access_token !== "string") {
    throw new Error(
      `Cannot get a token for a machine client: ${JSON.stringify(body)}`,
    );
  }
  return body.access_token;
}
