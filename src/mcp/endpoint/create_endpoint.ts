import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import { Seal } from "../../base/sealed_values.ts";
import type { ToolPins } from "../approval/tool_pins.ts";
import { Catalog } from "../catalog/catalog.ts";
import type { CatalogServer } from "../catalog/server_entries.ts";
import type { RelayRequest } from "./endpoint_request.ts";
import { McpEndpoint } from "./federating_endpoint.ts";
import { Changes, type ServerChange } from "../clients/changes.ts";
import { KeptLists } from "../clients/kept_lists.ts";
import { ListCursors, type McpSealPurpose } from "../clients/list_cursors.ts";
import { ConnectTools } from "../clients/connect_tools.ts";
import { Methods } from "../clients/methods.ts";
import type { ObserveCall } from "../clients/tool_calls.ts";
import { CommonConnections } from "../clients/common_connections.ts";
import { listKinds } from "../servers/lists/list_items.ts";
import { McpServer } from "../servers/federated_server.ts";
import { fetchList } from "../servers/lists/fetch_list.ts";
import { ServerLists } from "../servers/lists/server_lists.ts";
import {
  type DiscoverySettings,
  ToolSearch,
} from "../discovery/tool_search.ts";
import { TaskIds } from "../clients/task_ids.ts";
import { TaskMethods } from "../clients/task_methods.ts";
import type { McpServerSettings } from "../servers/mcp_settings.ts";
import type { CreateConnector } from "../servers/server_connector.ts";

/** A server of an endpoint, and how to reach it. */
export interface EndpointServer {
  readonly settings: McpServerSettings;
  /** Address for humans; see `McpServerStatus`. */
  readonly address: string;
  readonly createConnector: CreateConnector;
}

/** Dependencies of an endpoint. */
export interface EndpointOptions {
  /** Names the endpoint among all: what another one has sealed is invalid. */
  readonly key: string;
  /** Name of the backend, for the log. */
  readonly backend: string;
  readonly servers: readonly EndpointServer[];
  /** Set if clients search for tools; otherwise all are listed. */
  readonly discovery?: DiscoverySettings | undefined;
  /** At least 32 characters; processes with the same secret continue each other's sessions. */
  readonly secret: string;
  /** Approved tools of servers without a lock file. */
  readonly pins: ToolPins;
  /** Counts calls of tools. */
  readonly observe: ObserveCall;
  readonly clock: Clock;
  readonly log: Log;
  /** Number of the worker that this is, from 1. */
  readonly worker: number;
  readonly relay?: RelayRequest | undefined;
  /** Tells the other workers of a change at a server. */
  readonly announce?: ((change: ServerChange) => void) | undefined;
  /** See `McpEndpoint`. */
  readonly home?: number | undefined;
}

/** States of servers are in those of clients, which have no limit of their own. */
const MAX_SEALED_LENGTH = 256 * 1024;

/** Creates an endpoint in front of several servers. */
export function createEndpoint(options: EndpointOptions): McpEndpoint {
  const { key, discovery, secret, pins, clock, log, worker, relay, home } =
    options;
  const seal = new Seal<McpSealPurpose>(
    `gateway mcp endpoint ${key}`,
    [secret],
    MAX_SEALED_LENGTH,
  );
  const changes = new Changes(clock, options.announce);
  const servers = options.servers.map((each) =>
    createServer(each, options, changes)
  );
  const catalog = new Catalog({ servers, backend: key, pins, log, clock });
  const search = discovery &&
    new ToolSearch(discovery, options.servers.map(nameOf), clock);
  const tasks = new TaskIds(seal);
  const services = {
    servers,
    catalog,
    // A client that searches for tools has another list.
    lists: search === undefined ? new KeptLists(catalog) : undefined,
    methods: new Methods({
      catalog,
      cursors: new ListCursors(seal),
      connects: new ConnectTools(servers.map(({ server }) => server)),
      tasks: new TaskMethods(tasks, servers, clock),
      search,
      observe: options.observe,
    }),
    common: new CommonConnections(),
    seal,
    tasks,
    clock,
    log,
    worker,
    changes,
  };
  return new McpEndpoint(services, relay, home);
}

function createServer(
  each: EndpointServer,
  { backend, clock, log }: EndpointOptions,
  changes: Changes,
): CatalogServer {
  const { name } = each.settings;
  const lists = new ServerLists(clock, (kind, dropped) =>
    log.warn(
      "An MCP server lists items that are invalid, too long or there twice",
      { backend, server: name, kind, dropped },
    ));
  const server = new McpServer({
    ...each,
    clock,
    log,
    check: (server) => checkLists(server, clock),
    onChange: (server, failure) => {
      if (failure === undefined) {
        log.info("MCP server is back", { backend, server: server.name });
      } else if (failure.kind !== "rejected" || !each.settings.asksUsers) {
        // A user who has not logged in there is no failure.
        log.warn("MCP server failed; its tools are not listed", {
          backend,
          server: server.name,
          error: failure,
        });
      }
      lists.invalidate();
      changes.report(server);
      const isBack = failure === undefined;
      changes.announce({ server: server.name, isBack });
    },
    onListsChanged: ({ name }) => {
      lists.invalidate();
      changes.announce({ server: name, isBack: false });
    },
    parameterHeaders: (server, tool) => lists.headersOf(server, tool),
  });
  return { server, lists };
}

function nameOf({ settings }: EndpointServer): string {
  return settings.name;
}

/** Connects to a server that has failed, and lists everything. @throws {ServerFailure} */
async function checkLists(server: McpServer, clock: Clock): Promise<void> {
  const connection = await server.connect({ user: "", capabilities: {} });
  try {
    for (const kind of listKinds) {
      await fetchList(kind, server, connection, clock);
    }
  } finally {
    // The server forgets the session by itself, if it does not learn of its end.
    connection.close().catch(() => {});
  }
}
