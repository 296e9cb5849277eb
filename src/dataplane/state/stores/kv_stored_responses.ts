import { createHash, type Hash } from "node:crypto";
import { inTime } from "../../../base/clock.ts";
import { readMembers } from "../../../base/json/decode_members.ts";
import type { Log } from "../../../base/log/log.ts";
import { redactUrl } from "../../../base/redaction.ts";
import { KvStore, type KvStoreOptions } from "../../../kv/kv_store.ts";
import {
  MAX_RECORD_LENGTH,
  type StoredResponses,
} from "../../../llm/responses/stored_responses.ts";

/** Dependencies of `KvStoredResponses`. */
export interface KvStoredResponsesOptions extends KvStoreOptions {
  readonly log: Log;
  /** Used while the store fails. */
  readonly memory: StoredResponses;
}

const EXPIRY_MS = 24 * 60 * 60 * 1000;
/** The end of a response waits so long for the store. */
const MAX_WAIT_MS = 500;
/** Deno KV stores at most 64 KiB in a value. */
const PART_LENGTH = 48 * 1024;
const MAX_PARTS = 2 * MAX_RECORD_LENGTH / PART_LENGTH;
const NONCE_BYTES = 12;

/**
 * Keeps responses for a day in Deno KV or Redis, for all processes that share it: encrypted with a key from the name, which is the
 * client and the id of the response, so that the store alone does not reveal them.
 */
export class KvStoredResponses implements StoredResponses {
  readonly #options: KvStoredResponsesOptions;
  readonly #store: KvStore;

  constructor(options: KvStoredResponsesOptions) {
    this.#options = options;
    this.#store = new KvStore(options);
  }

  async keep(name: string, record: string): Promise<void> {
    const { memory, clock } = this.#options;
    await memory.keep(name, record);
    if (name.length + record.length > MAX_RECORD_LENGTH) return;
    const sealed = await seal(name, record);
    const parts = Array.from(
      { length: Math.ceil(sealed.length / PART_LENGTH) },
      (_, index) => sealed.slice(index * PART_LENGTH).slice(0, PART_LENGTH),
    );
    const write = Promise.all(
      parts.map((part, index) =>
        this.#store.update(keyOf(name, index), () => ({
          value: { part, count: parts.length },
          expireInMs: EXPIRY_MS,
        }))
      ),
    );
    await inTime(clock, MAX_WAIT_MS, this.#succeeds(write));
  }

  async find(name: string): Promise<string | undefined> {
    const ofProcess = await this.#options.memory.find(name);
    if (ofProcess !== undefined) return ofProcess;
    const parts: string[] = [];
    let count = 1;
    const read = async () => {
      while (parts.length < Math.min(count, MAX_PARTS)) {
        await this.#store.update(keyOf(name, parts.length), (value) => {
          const found = readMembers(value, { part: "string", count: "number" });
          count = found?.count ?? 0;
          if (found !== undefined) parts.push(found.part);
          return undefined;
        });
      }
    };
    const isRead = await this.#succeeds(read());
    return isRead && count > 0 ? await open(name, parts.join("")) : undefined;
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async #succeeds(action: Promise<unknown>): Promise<boolean> {
    try {
      await action;
      return true;
    } catch (error) {
      const { log, store } = this.#options;
      log.warn(
        "Cannot share responses of LLMs; clients that refer to them may have to send their conversation",
        { store: redactUrl(store), error },
      );
      return false;
    }
  }
}

function keyOf(name: string, index: number): Deno.KvKey {
  return ["llm", "responses", digest(name).digest("hex"), index];
}

function digest(text: string): Hash {
  return createHash("sha256").update(text);
}

function cipherKey(name: string): Promise<CryptoKey> {
  const bytes = new Uint8Array(digest(`key of\n${name}`).digest());
  const usages: KeyUsage[] = ["encrypt", "decrypt"];
  return crypto.subtle.importKey("raw", bytes, "AES-GCM", false, usages);
}

async function seal(name: string, text: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv },
    await cipherKey(name),
    new TextEncoder().encode(text),
  );
  return iv.toBase64() + new Uint8Array(sealed).toBase64();
}

/** Opens a record; `undefined` if it is damaged, as by a reader of half of two. */
async function open(name: string, text: string): Promise<string | undefined> {
  try {
    const bytes = Uint8Array.fromBase64(text);
    const iv = bytes.subarray(0, NONCE_BYTES);
    const opened = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv },
      await cipherKey(name),
      bytes.subarray(NONCE_BYTES),
    );
    return new TextDecoder().decode(opened);
  } catch {
    return undefined;
  }
}
