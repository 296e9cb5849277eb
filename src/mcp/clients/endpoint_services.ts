import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log/log.ts";
import type { Seal } from "../../base/sealed_values.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { CatalogServer } from "../catalog/server_entries.ts";
import type { TaskIds } from "./task_ids.ts";
import type { Changes } from "./changes.ts";
import type { KeptLists } from "./kept_lists.ts";
import type { McpSealPurpose } from "./list_cursors.ts";
import type { Methods } from "./methods.ts";
import type { CommonConnections } from "./common_connections.ts";

/** Services that the parts of an endpoint share. */
export interface EndpointServices {
  readonly servers: readonly CatalogServer[];
  readonly catalog: Catalog;
  readonly methods: Methods;
  /** `undefined` where clients search for tools. */
  readonly lists: KeptLists | undefined;
  readonly common: CommonConnections;
  readonly seal: Seal<McpSealPurpose>;
  readonly tasks: TaskIds;
  readonly clock: Clock;
  readonly log: Log;
  /** Number of the worker that this is, from 1. */
  readonly worker: number;
  /** Called when a server fails or comes back, or has changed its lists. */
  readonly changes: Changes;
}
