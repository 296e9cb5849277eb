import { createHash, type Hash } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import type { JsonObject } from "../../../base/json.ts";
import { runInSlices } from "../../../base/slices.ts";
import { RPC, RpcFailure } from "../../protocol/rpc_messages.ts";
import { MessageLimit } from "../failures/message_limit.ts";
import { ServerFailure } from "../failures/server_failure.ts";
import type { McpServer } from "../federated_server.ts";
import { ownSide, type ServerConnection } from "../server_connection.ts";
import { listFacts, type ListKind, readItem } from "./list_items.ts";

/** A whole list of one server. */
export interface ServerList {
  /** Items by what identifies them, in the order of the server; invalid ones are missing. */
  readonly items: ReadonlyMap<string, JsonObject>;
  /** Number of items that were dropped because they are invalid or too long. */
  readonly dropped: number;
  readonly ttlMs: number;
  /** True if the list depends on the user. */
  readonly isPrivate: boolean;
  /** SHA-256 of what the server has sent. */
  readonly digest: string;
}

const MAX_PAGES = 100;
const MAX_ITEMS = 10_000;
/** Characters of JSON of a list, and of an item: what no model could read holds the thread for seconds. */
const MAX_LENGTH = 16 * 1024 * 1024;
const MAX_ITEM_LENGTH = 1024 * 1024;
/** Age of a list of a server that does not say how long it is valid. */
const LEGACY_TTL_MS = 5000;
const MAX_TTL_MS = 3_600_000;

/** Reads all pages of a list. @throws {ServerFailure} Also for a list without end. */
export async function fetchList(
  kind: ListKind,
  { name, settings, health, closing }: McpServer,
  connection: ServerConnection,
  clock: Clock,
): Promise<ServerList> {
  const { method, capability } = listFacts[kind];
  const about = connection.about;
  const ttl = about.era === "legacy" ? LEGACY_TTL_MS : 0;
  const empty = {
    items: new Map(),
    dropped: 0,
    ttlMs: LEGACY_TTL_MS,
    isPrivate: false,
    digest: "",
  };
  if (about.capabilities[capability] === undefined) return empty;
  const limit = new MessageLimit(
    closing,
    clock,
    settings.timeouts.listMs,
    () => new ServerFailure(name, "timeout", "did not list in time"),
  );
  const side = ownSide(limit.cancellation);
  try {
    return await drain(
      kind,
      ttl,
      (cursor) => connection.request(method, cursor, side),
      name,
      clock,
    );
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw record(error, health);
    if (error.code === RPC.METHOD_NOT_FOUND) return empty;
    throw record(
      new ServerFailure(name, "invalid", `cannot list its ${kind}`, {
        cause: error,
      }),
      health,
    );
  } finally {
    limit.end();
  }
}

function record(error: unknown, health: McpServer["health"]): unknown {
  if (error instanceof ServerFailure) health.failed(error);
  return error;
}

async function drain(
  kind: ListKind,
  defaultTtlMs: number,
  fetchPage: (params: JsonObject) => Promise<JsonObject>,
  server: string,
  clock: Clock,
): Promise<ServerList> {
  const items = new Map<string, JsonObject>();
  const fail = (problem: string) =>
    new ServerFailure(server, "invalid", problem);
  let dropped = 0;
  const digest = createHash("sha256");
  let length = 0;
  let ttlMs = MAX_TTL_MS;
  let isPrivate = false;
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const result = await fetchPage(cursor === undefined ? {} : { cursor });
    const { [kind]: listed, nextCursor } = result;
    if (!Array.isArray(listed)) throw fail(`sent no list of ${kind}`);
    if (items.size + dropped + listed.length > MAX_ITEMS) {
      throw fail(`has more than ${MAX_ITEMS} ${kind}`);
    }
    const taken = take(kind, listed, items, digest);
    const { kept, size } = await runInSlices(taken, clock);
    dropped += listed.length - kept;
    length += size;
    if (length > MAX_LENGTH) throw fail(`has too long ${kind}`);
    const { ttlMs: ttl = defaultTtlMs, cacheScope } = result;
    ttlMs = Math.min(ttlMs, typeof ttl === "number" && ttl >= 0 ? ttl : 0);
    isPrivate ||= cacheScope === "private";
    if (typeof nextCursor !== "string") {
      return { items, dropped, ttlMs, isPrivate, digest: digest.digest("hex") };
    }
    if (nextCursor === cursor) break;
    cursor = nextCursor;
  }
  throw fail(`lists ${kind} without end`);
}

/** Takes the items of a page; returns how many of them, and how many characters all have. */
function* take(
  kind: ListKind,
  listed: readonly unknown[],
  items: Map<string, JsonObject>,
  digest: Hash,
): Generator<void, { readonly kept: number; readonly size: number }> {
  const before = items.size;
  let size = 0;
  for (const item of listed) {
    yield;
    const text = JSON.stringify(item);
    digest.update(text).update(",");
    size += text.length;
    if (text.length > MAX_ITEM_LENGTH) continue;
    const read = readItem(kind, item);
    if (read !== undefined && !items.has(read.key)) {
      items.set(read.key, read.item);
    }
  }
  return { kept: items.size - before, size };
}
