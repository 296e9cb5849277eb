import { join } from "node:path";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { ConnectingUser } from "./connecting_user.ts";
import { startGenericIdp } from "./generic_idp.ts";
import { freePort } from "../process/free_port.ts";
import { startTestGateway, type TestGateway } from "../gateway/gateway.ts";
import { TestServer } from "../servers/echo_server.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Secret of the gateway at the provider. */
export const CLIENT_SECRET = "planted/browser+secret-77aa";
/** Secret that seals cookies. */
export const COOKIE_SECRET = "a cookie secret of at least 32 characters";

/** A clock that is ahead of that of the system. */
export class ShiftedClock implements Clock {
  shiftMs = 0;

  now(): number {
    return systemClock.now() + this.shiftMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.shiftMs;
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    return systemClock.setTimer(callback, delayMs);
  }
}

/** A site whose users log in with `oidc`: a provider, and gateways that share secret and store. */
export interface BrowserLoginSite extends AsyncDisposable {
  readonly idp: Idp;
  /** Requests that reached the provider, such as `POST /token`. */
  readonly idpRequests: string[];
  /** Origin of the first gateway. */
  readonly origin: string;
  readonly upstream: TestServer;
  readonly oidc: Fields;
  readonly storePath: string;
  /** Starts a gateway; the first one has `origin`. */
  start(options?: LoginGatewayOptions): Promise<TestGateway>;
  user(name: string): ConnectingUser;
}

/** Options of a gateway. */
export interface LoginGatewayOptions {
  /** Further fields of `oidc`. */
  readonly oidc?: Fields;
  /** Further policies of the route. */
  readonly policies?: Fields;
  readonly config?: Fields;
  readonly routes?: readonly Fields[];
  readonly port?: number;
  readonly clock?: Clock;
}

/** Starts the provider and a backend that shows what it gets. */
export async function startBrowserLoginSite(): Promise<BrowserLoginSite> {
  await using opening = new AsyncDisposableStack();
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const folder = await Deno.makeTempDir();
  opening.defer(() => Deno.remove(folder, { recursive: true }));
  const storePath = join(folder, "store.sqlite");
  const idpRequests: string[] = [];
  const client = {
    redirect_uris: [`${origin}/oauth2/callback`, `${origin}/other/callback`],
    post_logout_redirect_uris: [`${origin}/bye`],
    grant_types: ["authorization_code", "refresh_token"],
    backchannel_logout_uri: `${origin}/oauth2/backchannel-logout`,
    backchannel_logout_session_required: true,
    client_secret: CLIENT_SECRET,
  };
  const idp = opening.use(
    await startGenericIdp({
      sendsIssuer: true,
      onRequest: (line) => idpRequests.push(line),
      clients: [
        { ...client, client_id: "site" },
        { ...client, client_id: "other" },
      ],
    }),
  );
  const upstream = opening.use(await TestServer.start());
  const oidc = {
    issuer: idp.issuer,
    clientId: "site",
    clientSecret: CLIENT_SECRET,
    cookieSecret: COOKIE_SECRET,
  };
  const site = opening.move();
  return {
    idp,
    idpRequests,
    origin,
    upstream,
    oidc,
    storePath,
    user: (name) => new ConnectingUser(name, origin, idp.origin),
    start: (options = {}) =>
      startTestGateway(
        {
          config: options.config ?? {},
          routes: options.routes ?? [{
            name: "app",
            matches: [{ path: { type: "PathPrefix", value: "/app" } }],
            policies: {
              oidc: { ...oidc, ...options.oidc },
              ...options.policies,
            },
            backends: [{ host: `127.0.0.1:${upstream.port}` }],
          }],
        },
        { port: options.port ?? port },
        [],
        options.clock === undefined ? {} : { clock: options.clock },
      ),
    [Symbol.asyncDispose]: () => site.disposeAsync(),
  };
}
