import type { Settings } from "../../api/settings.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import { readFileTextSync } from "../../base/regular_file.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { AccountChanges } from "../../identity/connections/account_changes.ts";
import { AdminConnections } from "../../identity/connections/admin_connections.ts";
import { ConnectionActions } from "../../identity/connections/connection_actions.ts";
import { ConnectionGrants } from "../../identity/connections/connection_grants.ts";
import { ConnectionIndex } from "../../identity/connections/connection_index.ts";
import { ConnectionLinks } from "../../identity/connections/connection_links.ts";
import { ConnectionLogins } from "../../identity/connections/connection_logins.ts";
import { ConnectionSite } from "../../identity/connections/connection_site.ts";
import { Connections } from "../../identity/connections/user_connections.ts";
import {
  GatewayLogin,
  type PageLogin,
} from "../../identity/connections/gateway_login.ts";
import { LoginClients } from "../../identity/connections/login_clients.ts";
import { LoginServers } from "../../identity/connections/login_servers.ts";
import type { UserLogin } from "../../identity/backend_tokens/backend_credentials.ts";
import type { GatewayUser } from "../../identity/connections/user_login.ts";
import type { Backend } from "../../snapshot/backend.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import type { OpenVault } from "./stores/kv_stores.ts";

/** Dependencies of the connections of users. */
export interface ConnectionStateOptions {
  readonly settings: NonNullable<Settings["connections"]>;
  /** Identity providers of the users, of `readPageLogins`. */
  readonly pageLogins: readonly PageLogin[];
  readonly vault: OpenVault;
  readonly clock: Clock;
  readonly log: Log;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  /** Aborts requests when the gateway stops. */
  readonly cancellation: Cancellation;
  /** Called after each request for a token. */
  onRequested(login: UserLogin, error: GatewayError | undefined): void;
  /** Called when the connection of a user has ended. */
  onEnded(login: UserLogin, user: GatewayUser): void;
  /** Returns the logins of the configuration in force. */
  logins(): readonly UserLogin[];
}

/** Connections of users, and the pages for them. */
export interface ConnectionState {
  readonly connections: Connections;
  readonly site: ConnectionSite;
  readonly admin: AdminConnections;
}

/** Creates the connections of users. */
export function createConnections(
  options: ConnectionStateOptions,
): ConnectionState {
  const { settings, vault: opened, clock, log } = options;
  const { vault, seal } = opened;
  const { url } = settings;
  const servers = new LoginServers(options);
  const clients = new LoginClients({ vault, servers, clock, url });
  const links = new ConnectionLinks({ seal, clock, url });
  const index = new ConnectionIndex(opened);
  const connections = new Connections({
    vault,
    index,
    links,
    grants: new ConnectionGrants({ ...options, servers, clients }),
    clock,
    log,
    onEnded: (login, user) => options.onEnded(login, user),
  });
  const changes = new AccountChanges(clock);
  const admin = new AdminConnections({
    changes,
    vault,
    index,
    connections,
    clock,
    logins: () => options.logins(),
  });
  const logins = new ConnectionLogins({ vault, servers, clients, clock });
  const site = new ConnectionSite({
    url,
    links,
    login: new GatewayLogin({
      ...options,
      logins: options.pageLogins,
      links,
      redirectUri: `${url}/login`,
    }),
    actions: new ConnectionActions({
      connections,
      logins,
      changes,
      clock,
      log,
    }),
    clients,
    log,
    now: () => clock.now(),
    logins: () => options.logins(),
  });
  return { connections, site, admin };
}

/** Returns the identity providers of the users. @throws {Error} When a file with a secret cannot be read. */
export function readPageLogins(
  { logins }: NonNullable<Settings["connections"]>,
): readonly PageLogin[] {
  return logins.map(pageLoginOf);
}

function pageLoginOf(
  { issuer, clientId, clientSecret, clientSecretFile, caFile, scopes }:
    NonNullable<Settings["connections"]>["logins"][number],
): PageLogin {
  const secret = clientSecretFile === undefined
    ? clientSecret
    : readFileTextSync(clientSecretFile).trim();
  return {
    issuer,
    clientId,
    scopes,
    caCertificates: caFile === undefined
      ? undefined
      : [readFileTextSync(caFile)],
    authentication: secret === undefined
      ? { method: "none" }
      : { method: "secret", secret, place: undefined },
  };
}

/** Returns the logins of the backends and MCP servers of a configuration. */
export function loginsOf({ backends }: Snapshot): readonly UserLogin[] {
  return [...backends.values()].flatMap(({ credentials, mcp }) =>
    [
      credentials,
      ...(mcp?.servers ?? []).map(({ transport }) =>
        transport.kind === "stdio" ? undefined : transport.backend.credentials
      ),
    ].filter(isUserLogin)
  );
}

function isUserLogin(
  credentials: Backend["credentials"],
): credentials is UserLogin {
  return credentials?.kind === "oauth";
}
