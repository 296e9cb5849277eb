import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { OAuthError } from "../oauth/protocol/oauth_error.ts";
import type { AccountChanges } from "./account_changes.ts";
import { type ConnectionLogins, isForUser } from "./connection_logins.ts";
import { isOver } from "./granted_connection.ts";
import type { ShownConnection } from "./connection_pages.ts";
import type { Connections } from "./user_connections.ts";
import type { UserLogin } from "../backend_tokens/backend_credentials.ts";
import { type GatewayUser, pathOf, titleOf } from "./user_login.ts";

/** Dependencies of what users do on the pages. */
export interface ConnectionActionsOptions {
  readonly connections: Connections;
  readonly logins: ConnectionLogins;
  readonly changes: Pick<AccountChanges, "add">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

/** Carries out what users do on the pages. Each change leaves an audit line and an entry; users learn why it fails, and only the log has all of it. */
export class ConnectionActions {
  readonly #options: ConnectionActionsOptions;

  constructor(options: ConnectionActionsOptions) {
    this.#options = options;
  }

  /** Lists what a user has connected, and can connect. */
  async list(
    logins: readonly UserLogin[],
    user: GatewayUser,
  ): Promise<readonly ShownConnection[]> {
    return await Promise.all(
      logins.map(async (login) => ({
        ...shownOf(login),
        state: await this.#stateOf(login, user),
      })),
    );
  }

  /** Starts a login at a service; returns where the user goes. @throws {OAuthError} */
  async start(
    login: UserLogin,
    user: GatewayUser,
    scopes: readonly string[],
    cancellation: Cancellation,
  ): Promise<string> {
    const { logins } = this.#options;
    const starting = logins.start(login, user, scopes, cancellation);
    return await this.#explained(login, starting);
  }

  /** Ends a login at a service with the answer of its authorization server. @throws {OAuthError} */
  async finish(
    login: UserLogin,
    user: GatewayUser,
    answer: URLSearchParams,
    cancellation: Cancellation,
  ): Promise<void> {
    const { logins, connections } = this.#options;
    await this.#audited("connect", login, user, async () => {
      const ending = logins.finish(login, user, answer, cancellation);
      const connection = await this.#explained(login, ending);
      await connections.keep(login, user, connection);
      return "done";
    });
  }

  /** Disconnects a service; returns what the page says about it. */
  async disconnect(
    login: UserLogin,
    user: GatewayUser,
  ): Promise<"disconnected" | "disconnected-here"> {
    const { connections } = this.#options;
    const outcome = await this.#audited("disconnect", login, user, async () => {
      const ended = await connections.revoke(login, user);
      if (ended === undefined) return "not connected";
      return ended.isConfirmed ? "done" : "not at the authorization server";
    });
    return outcome === "not at the authorization server"
      ? "disconnected-here"
      : "disconnected";
  }

  /** Records a change of a user with its outcome: `rejected` or `failed` if it throws, else what `change` returns. */
  async #audited<Outcome extends string>(
    action: "connect" | "disconnect",
    { backend }: UserLogin,
    { issuer, subject }: GatewayUser,
    change: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const { log, changes } = this.#options;
    const user = { issuer, subject };
    const audit = (outcome: string) => {
      log.info("Account change", { user, action, backend, outcome });
      changes.add({ user, action: `${action} ${backend}`, outcome });
    };
    try {
      const outcome = await change();
      audit(outcome);
      return outcome;
    } catch (error) {
      const isRejected = error instanceof OAuthError &&
        error.code === "access_denied";
      audit(isRejected ? "rejected" : "failed");
      throw error;
    }
  }

  async #stateOf(
    login: UserLogin,
    user: GatewayUser,
  ): Promise<ShownConnection["state"]> {
    const { connections, clock } = this.#options;
    try {
      const found = await connections.find(login, user);
      if (found === undefined) return { kind: "none" };
      if (isOver(found, clock.now())) return { kind: "expired" };
      const { scopes, connectedAt, issuer: server } = found;
      return { kind: "connected", scopes, connectedAt, server };
    } catch {
      // No key opens it, or the store is away.
      return { kind: "unknown" };
    }
  }

  async #explained<T>(login: UserLogin, pending: Promise<T>): Promise<T> {
    try {
      return await pending;
    } catch (error) {
      this.#options.log.warn("Cannot connect a user to a service", {
        backend: login.backend,
        // Errors of the library have no secrets, but their causes do.
        error: error instanceof Error ? error.message : "unknown",
      });
      throw new OAuthError(
        isForUser(error) ? "access_denied" : "server_error",
        `${titleOf(login)} cannot be connected: ${
          isForUser(error)
            ? error.message
            : "its authorization server does not respond as it should"
        }`,
      );
    }
  }
}

/** Describes a service for the pages. */
export function shownOf(login: UserLogin): Omit<ShownConnection, "state"> {
  const { resource } = login;
  return { path: pathOf(login), title: titleOf(login), resource };
}
