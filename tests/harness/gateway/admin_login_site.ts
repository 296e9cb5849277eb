import type { IdpOptions } from "../../../cli/dev/idp/configuration.ts";
import type { Idp } from "../../../cli/dev/idp/idp.ts";
import { ConnectingUser } from "../login/connecting_user.ts";
import { startGenericIdp } from "../login/generic_idp.ts";
import { freePort } from "../process/free_port.ts";
import { GatewayProcess } from "./gateway_process.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Token of the admin interface. */
export const ADMIN_TOKEN = "0123456789abcdef";

/** A gateway whose admin interface has a login: `vera` is a viewer, `olga` an operator, and `anna` an admin. */
export interface AdminLoginSite extends AsyncDisposable {
  readonly idp: Idp;
  readonly gateway: GatewayProcess;
  /** Starts another process with the same configuration and an admin interface of its own, behind the same proxy. */
  startReplica(): Promise<GatewayProcess>;
  /** Origin of the admin interface. */
  readonly admin: string;
  user(name: string): ConnectingUser;
  /** Logs a user in; returns its cookies. */
  logIn(name: string): Promise<string>;
}

/** Starts the provider and the gateway. @param config Further settings. @param team Expression for the team of a user. @param route Further fields of the route. @param clients Further clients at the provider. @param port Port of the listener. */
export async function startAdminLoginSite(
  config: Readonly<Record<string, unknown>> = {},
  { team, route = {}, clients = [], port: listenerPort = freePort() }: {
    readonly team?: string;
    readonly route?: Fields | ((idp: Idp) => Fields);
    readonly clients?: NonNullable<IdpOptions["clients"]>;
    readonly port?: number;
  } = {},
): Promise<AdminLoginSite> {
  await using opening = new AsyncDisposableStack();
  const port = freePort();
  const admin = `http://127.0.0.1:${port}`;
  const secret = "planted/admin+secret-91ce";
  const idp = opening.use(
    await startGenericIdp({
      sendsIssuer: true,
      clients: [{
        client_id: "admin",
        client_secret: secret,
        redirect_uris: [`${admin}/ui/login/callback`],
        backchannel_logout_uri: `${admin}/ui/login/backchannel`,
        backchannel_logout_session_required: true,
      }, ...clients],
    }),
  );
  const start = (adminPort: number, port: number) =>
    GatewayProcess.start({
      port,
      config: {
        config: {
          adminAddr: `127.0.0.1:${adminPort}`,
          adminToken: ADMIN_TOKEN,
          kv: { path: ":memory:" },
          workers: 1,
          adminLogin: {
            issuer: idp.issuer,
            clientId: "admin",
            clientSecret: secret,
            url: admin,
            team,
            roles: {
              viewer: "jwt.sub in ['vera', 'victor'] || jwt.groups == 'x'",
              operator: "jwt.sub == 'olga'",
              admin: "jwt.sub == 'anna'",
            },
          },
          ...config,
        },
        routes: [{
          name: "hello",
          policies: { directResponse: { status: 200, body: "hello" } },
          ...typeof route === "function" ? route(idp) : route,
        }],
      },
    });
  const gateway = opening.use(await start(port, listenerPort));
  const site = opening.move();
  const user = (name: string) => new ConnectingUser(name, admin, idp.origin);
  return {
    idp,
    gateway,
    startReplica: () => start(freePort(), freePort()),
    admin,
    user,
    async logIn(name) {
      const browser = user(name);
      await browser.open(`${admin}/ui/login`);
      return browser.jar.fieldFor(new URL(admin));
    },
    [Symbol.asyncDispose]: () => site.disposeAsync(),
  };
}
