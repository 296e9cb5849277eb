import { ConnectionRequiredError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";
import { exposedName } from "../names/names.ts";
import type { McpServer } from "../servers/federated_server.ts";
import type { ServerFailure } from "../servers/failures/server_failure.ts";
import type { Client } from "./client.ts";

/** Name of the tool at a server. */
const CONNECT = "connect_account";

/** Tools of servers at which the user has to log in: such a server lists none of its own before, and models would not know of it. */
export class ConnectTools {
  /** By exposed name. */
  readonly #servers: ReadonlyMap<string, McpServer>;

  constructor(servers: readonly McpServer[]) {
    this.#servers = new Map(
      servers.filter(({ settings }) => settings.asksUsers === true)
        .map((server) => [
          exposedName(server.settings.prefix, CONNECT),
          server,
        ]),
    );
  }

  /** Returns the tools of servers that are missing because the user has not logged in there. */
  missing(failures: readonly ServerFailure[]): readonly JsonObject[] {
    const waiting = new Set(
      failures.filter((each) => connectionOf(each) !== undefined)
        .map(({ server }) => server),
    );
    return [...this.#servers].filter(([, { name }]) => waiting.has(name))
      .map(([name, server]) => ({
        name,
        description:
          `Connects the account of the user at ${server.name}, which has no other tools before. Call it first, and list the tools again.`,
        inputSchema: { type: "object", properties: {} },
        annotations: { readOnlyHint: true, openWorldHint: false },
      }));
  }

  /** Reports whether a name is that of one of them. */
  has(name: string): boolean {
    return this.#servers.has(name);
  }

  /** Calls a tool; returns `undefined` if it is another one. @throws {ServerFailure} While the user has to log in. */
  async call(client: Client, name: string): Promise<JsonObject | undefined> {
    const server = this.#servers.get(name);
    if (server === undefined) return undefined;
    await client.converse(server, () => Promise.resolve());
    await server.health.recheck();
    const text = `${server.name} is connected. List the tools again.`;
    return { content: [{ type: "text", text }] };
  }
}

/**
 * Returns the error that has the client send its user to the page of a connection, if it can (MCP 2025-11-25 and 2026-07-28, URL
 * mode elicitation); `undefined` for other clients and failures.
 */
export function elicitation(
  { capabilities }: Pick<Client, "capabilities">,
  failure: ServerFailure,
): RpcFailure | undefined {
  const connection = connectionOf(failure);
  const { elicitation } = capabilities;
  if (
    connection === undefined || !isJsonObject(elicitation) ||
    elicitation["url"] === undefined
  ) return undefined;
  const { request: message, connection: { url } } = connection;
  const elicitationId = crypto.randomUUID();
  const elicitations = [{ mode: "url", elicitationId, url, message }];
  return new RpcFailure(RPC.URL_ELICITATION_REQUIRED, message, {
    elicitations,
  });
}

/** Returns the message of a failure for users, with the link if they have to log in. */
export function messageOf(failure: ServerFailure): string {
  const connection = connectionOf(failure);
  return connection === undefined
    ? failure.message
    : `${failure.message}. ${connection.publicMessage}`;
}

function connectionOf(
  { cause }: ServerFailure,
): ConnectionRequiredError | undefined {
  return cause instanceof ConnectionRequiredError ? cause : undefined;
}
