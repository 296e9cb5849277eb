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

/** A running identity provider on 127.0.0.1, with OAuth 2.1 and OpenID Connect as the npm package `oidc-provider` has them. */
export interface Idp extends AsyncDisposable {
  /** `http://127.0.0.1:41236`. */
  readonly origin: string;
  /** What tokens carry as `iss`, byte for byte. */
  readonly issuer: string;
  /** Where the keys are, seen from `origin`: `/.well-known/jwks.json`. */
  readonly jwksPath: string;
  /** A public client with PKCE, registered beforehand, whose loopback redirect URIs may have any port. */
  readonly clientId: string;
  /** Gets a token for a program, with the client credentials grant. */
  issueMachineToken(audience: string): Promise<string>;
  /** Replaces the signing key; the old one is gone from the keys. */
  rotateKeys(): Promise<void>;
  /** Goes down: connections are refused. */
  stop(): Promise<void>;
  /** Comes up again at the same origin, with sessions, clients and keys as they were. */
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
  async function rotateKeys() {
    const jwks = { keys: [await createSigningKey()] };
    const provider = new Provider(issuer, { ...configuration, jwks });
    if (!traits.sendsIssuer) provider.use(hideIssuer);
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
  const answer = provider.callback();
  return (request, response) => {
    const target = request.url ?? "/";
    onRequest(`${request.method} ${target}`);
    const path = askForScope(locate(target));
    if (path === undefined) {
      response.statusCode = 404;
      response.end();
    } else if (path.startsWith("/login/")) {
      handleLogin(provider, request, response).catch((error) => {
        response.statusCode = 400;
        response.end(`Cannot log in: ${error}\n`);
      });
    } else {
      // As routers for node:http do it: this is how the package learns its mount path.
      Object.assign(request, { originalUrl: mountPath + path, url: path });
      answer(request, response);
    }
  };
}

/** The package, from its first use on: it takes longer to load than the rest of the playground to start. */
let loading: Promise<typeof Provider> | undefined;

async function loadProvider(): Promise<typeof Provider> {
  // It warns of every runtime but Node, by no other way.
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

/** Asks for some scope where the client asks for none: the package takes that as nothing granted, real providers do not. */
function askForScope(path: string | undefined): string | undefined {
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
  const answer: unknown = await response.json();
  if (!isJsonObject(answer) || typeof answer.access_token !== "string") {
    throw new Error(
      `Cannot get a token for a program: ${JSON.stringify(answer)}`,
    );
  }
  return answer.access_token;
}
