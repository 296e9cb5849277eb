import { gunzipSync, gzipSync } from "node:zlib";
import {
  isJsonObject,
  type JsonObject,
  parseJson,
} from "../../../base/json.ts";
import type { Log } from "../../../base/log/log.ts";
import type { KvChange, KvHandle } from "../../../kv/kv_handle.ts";
import { KvStore, type KvStoreOptions } from "../../../kv/kv_store.ts";
import type {
  LockedTool,
  Revocation,
  ToolLock,
} from "../../../mcp/servers/tool_approval.ts";
import type { PinPlace } from "../../../mcp/approval/tool_pins.ts";
import type { PinRecords } from "./pin_book.ts";

/** Begins all keys; the number is the version of the records. */
const prefix = ["mcp-pins", 1] as const;
/** Changes with every record. */
const head = [...prefix, "head"];

/** Time between two looks at the head. */
const POLL_MS = 1000;
/** Deno KV takes values of 64 KiB. */
const PART_LENGTH = 60_000;
/** It commits 800 KiB at once. */
const MAX_LENGTH = 600_000;
/** Longest text of a record: what anybody else has written into the store takes no more memory. */
const MAX_TEXT = 64 * 1024 * 1024;

/** Dependencies of the records. */
export interface KvPinRecordsOptions extends KvStoreOptions {
  readonly log: Log;
  /** Called when another process has approved tools. */
  readonly onChange: () => void;
}

/**
 * Keeps approved tools in Deno KV or Redis, for all processes with the same store. A record has its definitions in gzip, in parts
 * that a commit replaces with it.
 */
export class KvPinRecords implements PinRecords {
  readonly #options: KvPinRecordsOptions;
  readonly #store: KvStore;
  #head: string | undefined;
  #cancelPoll: (() => void) | undefined;
  #hasFailed = false;
  #isClosed = false;

  constructor(options: KvPinRecordsOptions) {
    this.#options = options;
    this.#store = new KvStore(options);
  }

  async read(place: PinPlace): Promise<ToolLock | undefined> {
    this.#follow();
    return await this.#store.transact(async (kv) => {
      // A later change of the record changes the head, too.
      this.#head ??= await readHead(kv);
      const found = await readRecord(kv, place);
      return found === "conflict" ? found : found.lock;
    });
  }

  async change(
    place: PinPlace,
    edit: (before: ToolLock | undefined) => ToolLock,
  ): Promise<ToolLock> {
    this.#follow();
    return await this.#store.transact<ToolLock>(async (kv, isLate) => {
      const found = await readRecord(kv, place);
      if (found === "conflict") return found;
      const lock = edit(found.lock);
      if (lock === found.lock) return lock;
      const tag = crypto.randomUUID();
      if (isLate()) return "conflict";
      const isDone = await kv.commit(changesOf(place, found, lock, tag));
      return isDone ? lock : "conflict";
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll?.();
    await this.#store.close();
  }

  #follow(): void {
    if (this.#isClosed) return;
    const { clock } = this.#options;
    this.#cancelPoll ??= clock.setTimer(() => void this.#poll(), POLL_MS);
  }

  async #poll(): Promise<void> {
    const { log, onChange } = this.#options;
    try {
      const found = await this.#store.transact(readHead);
      const isKnown = this.#head === undefined || this.#head === found;
      this.#head = found;
      if (!isKnown) onChange();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed && !this.#isClosed) {
        log.warn("Cannot read the store of approved MCP tools", { error });
      }
      this.#hasFailed = true;
    }
    this.#cancelPoll = undefined;
    this.#follow();
  }
}

async function readHead(kv: KvHandle): Promise<string> {
  return String((await kv.read(head)).value);
}

/** A record as it is in the store. */
interface FoundRecord {
  readonly version: string | null;
  readonly tag?: string;
  readonly parts: number;
  readonly lock: ToolLock | undefined;
}

function recordKey({ backend, server }: PinPlace): Deno.KvKey {
  return [...prefix, "server", backend, server];
}

function partKey(place: PinPlace, tag: string, part: number): Deno.KvKey {
  return [...recordKey(place), tag, part];
}

/** @throws {TypeError} For a damaged record: nobody knows then what was approved. */
async function readRecord(
  kv: KvHandle,
  place: PinPlace,
): Promise<FoundRecord | "conflict"> {
  const { value, version } = await kv.read(recordKey(place));
  if (version === null) return { version, parts: 0, lock: undefined };
  const { tag, parts } = Object(value);
  if (typeof tag !== "string" || !Number.isSafeInteger(parts)) throw damaged();
  const read = await Promise.all(
    Array.from(
      { length: Math.min(parts, MAX_LENGTH / PART_LENGTH) },
      (_, part) => kv.read(partKey(place, tag, part)),
    ),
  );
  const texts = read.map((part) => part.value);
  if (texts.includes(null)) {
    const now = await kv.read(recordKey(place));
    if (now.version !== version) return "conflict";
    throw damaged();
  }
  return { version, tag, parts, lock: decode(texts.join("")) };
}

function changesOf(
  place: PinPlace,
  { version, tag: oldTag, parts: oldParts }: FoundRecord,
  lock: ToolLock,
  tag: string,
): readonly KvChange[] {
  const text = encode(lock);
  const parts = Math.ceil(text.length / PART_LENGTH);
  return [
    { key: head, next: { value: tag } },
    { key: recordKey(place), version, next: { value: { tag, parts } } },
    ...Array.from({ length: parts }, (_, part): KvChange => ({
      key: partKey(place, tag, part),
      next: {
        value: text.slice(part * PART_LENGTH, (part + 1) * PART_LENGTH),
      },
    })),
    ...oldTag === undefined ? [] : Array.from(
      { length: oldParts },
      (_, part): KvChange => ({ key: partKey(place, oldTag, part) }),
    ),
  ];
}

/** Definitions that take too much space are left out: what was approved stays known by its digest. */
function encode(lock: ToolLock): string {
  const whole = compress([...lock]);
  if (whole.length <= MAX_LENGTH) return whole;
  const digests = compress(
    [...lock].map(([name, { digest, revoked }]) => [name, { digest, revoked }]),
  );
  if (digests.length <= MAX_LENGTH) return digests;
  throw new RangeError("the names of the tools are too long to be kept");
}

function compress(entries: readonly (readonly [string, LockedTool])[]): string {
  return new Uint8Array(gzipSync(JSON.stringify(entries))).toBase64();
}

function decode(text: string): ToolLock {
  const bytes = gunzipSync(Uint8Array.fromBase64(text), {
    maxOutputLength: MAX_TEXT,
  });
  const entries = parseJson(new TextDecoder().decode(bytes));
  if (!Array.isArray(entries)) throw damaged();
  return new Map(entries.map((entry): [string, LockedTool] => {
    const [name, tool] = Array.isArray(entry) ? entry : [];
    if (typeof name !== "string" || !isJsonObject(tool)) throw damaged();
    const { digest, definition, revoked } = tool;
    if (typeof digest !== "string") throw damaged();
    return [name, {
      digest,
      ...(isJsonObject(definition) && { definition }),
      ...(isJsonObject(revoked) && { revoked: readRevocation(revoked) }),
    }];
  }));
}

function readRevocation({ at, by }: JsonObject): Revocation {
  return { at: String(at), ...(typeof by === "string" && { by }) };
}

function damaged(): TypeError {
  return new TypeError("a record of approved MCP tools is damaged");
}
