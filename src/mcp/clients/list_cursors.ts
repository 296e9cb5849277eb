import { createHash } from "node:crypto";
import type { JsonObject } from "../../base/json.ts";
import type { Seal } from "../../base/sealed_values.ts";
import { RPC, RpcFailure } from "../protocol/rpc_messages.ts";

/** Purposes of the values that an endpoint gives to clients. */
export type McpSealPurpose = "session" | "cursor" | "input" | "task";

/** Items of a page. Some clients read only the first page, so that it is long. */
export const PAGE_ITEMS = 1000;

/** A part of a list. */
interface Page {
  readonly items: readonly JsonObject[];
  readonly nextCursor: string | undefined;
}

/** Pages of merged lists; a cursor is valid for the user, and as long as the list does not change. */
export class ListCursors {
  readonly #seal: Seal<McpSealPurpose>;

  constructor(seal: Seal<McpSealPurpose>) {
    this.#seal = seal;
  }

  /**
   * Returns a page.
   * @param owner User and kind of list.
   * @throws {RpcFailure} For a cursor that is invalid.
   */
  page(owner: string, items: readonly JsonObject[], cursor: unknown): Page {
    if (items.length <= PAGE_ITEMS && cursor === undefined) {
      return { items, nextCursor: undefined };
    }
    const version = createHash("sha256").update(owner)
      .update(JSON.stringify(items)).digest("base64url");
    const start = cursor === undefined ? 0 : this.#open(cursor, version);
    const end = start + PAGE_ITEMS;
    return {
      items: items.slice(start, end),
      nextCursor: end < items.length
        ? this.#seal.seal("cursor", { version, start: end })
        : undefined,
    };
  }

  #open(cursor: unknown, version: string): number {
    const opened = typeof cursor === "string"
      ? this.#seal.open("cursor", cursor)
      : undefined;
    const start = opened?.["start"];
    if (opened?.["version"] === version && typeof start === "number") {
      return start;
    }
    throw new RpcFailure(RPC.INVALID_PARAMS, "Invalid cursor");
  }
}
