import { join } from "node:path";
import { isJsonObject } from "../../../src/base/json.ts";
import { startGenericIdp } from "../login/generic_idp.ts";
import { ConnectingUser } from "../login/connecting_user.ts";
import type { UserService } from "../login/user_service.ts";
import { freePort } from "../process/free_port.ts";
import { createTokenIssuer, jwksOf } from "../login/tokens.ts";
import { GatewayProcess } from "./gateway_process.ts";
import { startTestGateway, type TestGateway } from "./gateway.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Secret of the gateway at the identity provider of its users. */
export const LOGIN_SECRET = "planted/login+secret-0c4f";
/** Key of the vault. */
export const VAULT_KEY = "a vault key of at least 32 characters";

/** An identity provider of users, the store, and gateways that share both. */
export interface ConnectingSite extends AsyncDisposable {
  /** Returns the configuration of a gateway, without a listener. */
  configure(options: GatewayOptions): Fields;
  /** Starts a gateway; the first one has the pages. */
  start(options: GatewayOptions): Promise<TestGateway>;
  /** Starts a gateway in a process of its own, with an admin interface; the first one has the pages. */
  startProcess(options: GatewayOptions): Promise<GatewayProcess>;
  /** A user of the gateways. */
  user(name: string): ConnectingUser;
  /** `Authorization` of a user's requests to the gateway. */
  authorization(user: string, issuer?: string): Promise<string>;
  /** Origin of the pages. */
  readonly origin: string;
  /** Port of the first gateway. */
  readonly port: number;
  /** File of the store. */
  readonly storePath: string;
}

/** Options of a gateway. */
export interface GatewayOptions {
  readonly backends?: readonly Fields[];
  readonly backend: Fields;
  readonly config?: Fields;
  /** Port of another gateway than the first. */
  readonly port?: number;
  /** Providers whose tokens are accepted too. */
  readonly providers?: readonly Fields[];
}

/** Starts the identity provider of the users. @param publicOrigin Origin of the pages for browsers and servers, if a proxy is in front of the gateway. */
export async function startConnectingSite(
  publicOrigin?: string,
): Promise<ConnectingSite> {
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const pages = publicOrigin ?? origin;
  const folder = await Deno.makeTempDir();
  const storePath = join(folder, "store.sqlite");
  const idp = await startGenericIdp({
    sendsIssuer: true,
    clients: [{
      client_id: "gateway-pages",
      client_secret: LOGIN_SECRET,
      redirect_uris: [`${pages}/connections/login`],
    }],
  });
  // Tokens of the same issuer, without a client that logs in for each.
  const issuer = await createTokenIssuer({ issuer: idp.issuer });
  const configure = (
    { backends = [], backend, config = {}, providers = [] }: GatewayOptions,
  ) => ({
    config: {
      kv: { path: storePath },
      vault: { keys: [VAULT_KEY] },
      connections: {
        url: `${pages}/connections`,
        logins: [{
          issuer: idp.issuer,
          clientId: "gateway-pages",
          clientSecret: LOGIN_SECRET,
        }],
      },
      ...config,
    },
    backends,
    routes: [{
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer: idp.issuer,
            audiences: ["https://gw.example/mcp"],
            jwks: { inline: jwksOf(issuer) },
          }, ...providers],
        },
      },
      backends: [backend],
    }],
  });
  return {
    origin,
    port,
    storePath,
    configure,
    user: (name) => new ConnectingUser(name, origin, idp.origin),
    authorization: async (sub) => `Bearer ${await issuer.sign({ sub })}`,
    start: (options) =>
      startTestGateway(configure(options), { port: options.port ?? port }),
    startProcess: (options) =>
      GatewayProcess.start({
        config: configure(options),
        port: options.port ?? port,
      }),
    async [Symbol.asyncDispose]() {
      await idp[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** A response of a gateway to a user. */
export interface UserResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Members of a JSON body. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Link in it. */
  readonly link: string;
}

/** Sends a request as a user. @param origin Of another gateway than the first. */
export async function sendAs(
  site: ConnectingSite,
  user: string,
  { path = "/api", origin = site.origin, ...init }: RequestInit & {
    readonly path?: string;
    readonly origin?: string;
  } = {},
): Promise<UserResponse> {
  const response = await fetch(origin + path, {
    ...init,
    headers: { authorization: await site.authorization(user) },
  });
  const text = await response.text();
  const parsed: unknown = text.startsWith("{") ? JSON.parse(text) : {};
  const body = isJsonObject(parsed) ? parsed : {};
  const { status, headers } = response;
  return { status, headers, text, body, link: String(body["url"]) };
}

/** Returns a backend at which users log in. */
export function backendOf(
  { port, resource }: UserService,
  oauth: Fields = {},
): Fields {
  return {
    name: "drive",
    static: { host: "127.0.0.1", port },
    credentials: { oauth: { resource, ...oauth } },
  };
}
