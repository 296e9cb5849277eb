import { parseDuration } from "../../../api/schema/duration.ts";
import type { Settings } from "../../../api/settings.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Logger } from "../../../base/log/log.ts";
import { redactUrl } from "../../../base/redaction.ts";
import {
  type DocumentCache,
  KvDocumentCache,
  noDocumentCache,
} from "../../../identity/documents/document_cache.ts";
import {
  type CountedOutputs,
  MemoryCountedOutputs,
} from "../../../llm/batch/counted_outputs.ts";
import {
  MemoryStoredResponses,
  type StoredResponses,
} from "../../../llm/responses/stored_responses.ts";
import { KvStoredResponses } from "./kv_stored_responses.ts";
import { KvCountedOutputs } from "./kv_counted_outputs.ts";
import type { UsageBook } from "../../../telemetry/traffic/usage_table.ts";
import { Keyring } from "../../keyring/keyring.ts";
import { KvPinRecords } from "./kv_pin_records.ts";
import { KvUsageBook } from "./kv_usage_book.ts";
import { MemoryPinRecords, PinBook } from "./pin_book.ts";
import {
  createMemoryLoginState,
  KvLoginState,
  type LoginState,
} from "../../../identity/oauth/grants/login_state.ts";
import { Vault } from "../../../identity/vault/vault.ts";
import {
  parseVaultKeys,
  VaultKeyFile,
} from "../../../identity/vault/vault_keys.ts";
import {
  type VaultKeys,
  VaultSeal,
} from "../../../identity/vault/vault_seal.ts";
import { KvStore } from "../../../kv/kv_store.ts";

/** Dependencies of stores that processes may share. */
export interface KvStoreOptions {
  readonly settings: Pick<Settings, "kv" | "egress" | "budgetWebhook">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Dependencies of the vault. */
interface VaultStoreOptions extends Omit<KvStoreOptions, "settings"> {
  readonly settings: Pick<Settings, "kv" | "vault">;
}

/** Creates the state of logins: in Deno KV or Redis if `config.kv` is set, else in memory. */
export function createLoginState(
  { settings: { kv }, clock, logger }: KvStoreOptions,
): LoginState {
  const store = storeOf(kv);
  return store === undefined
    ? createMemoryLoginState(clock, logger.module("policy"))
    : new KvLoginState(store, clock);
}

/** Creates the shared memory of who used what; `undefined` without `config.kv`. */
export function createUsageBook(
  { settings: { kv }, clock, logger }: KvStoreOptions,
): UsageBook | undefined {
  const store = storeOf(kv);
  if (store === undefined) return undefined;
  return new KvUsageBook({ store, clock, log: logger.module("ratelimit") });
}

/** Creates the memory of charged outputs of LLMs: in Deno KV or Redis if `config.kv` is set. @param memory That of this process. */
export function createCountedOutputs(
  { settings: { kv }, clock, logger }: KvStoreOptions,
  memory?: SharedArrayBuffer,
): CountedOutputs {
  const ofProcess = new MemoryCountedOutputs(memory);
  const store = storeOf(kv);
  if (store === undefined) return ofProcess;
  return new KvCountedOutputs({
    store,
    clock,
    log: logger.module("ratelimit"),
    memory: ofProcess,
  });
}

/** Creates the responses to which clients of LLMs refer: in Deno KV or Redis if `config.kv` is set. */
export function createStoredResponses(
  { settings: { kv }, clock, logger }: KvStoreOptions,
): StoredResponses {
  const memory = new MemoryStoredResponses();
  const store = storeOf(kv);
  if (store === undefined) return memory;
  const log = logger.module("proxy");
  return new KvStoredResponses({ store, clock, log, memory });
}

/** Creates the keys in Deno KV or Redis; `undefined` without `config.kv`. */
export function createKeyring(
  { settings, clock, logger }: KvStoreOptions,
): Keyring | undefined {
  const store = storeOf(settings.kv);
  if (store === undefined) return undefined;
  const log = logger.module("policy");
  return new Keyring({ store, settings, clock, log });
}

/** Creates the approved tools of MCP servers: in Deno KV or Redis if `config.kv` is set. @param onChange Called when another process has approved some. */
export function createPinBook(
  { settings: { kv }, clock, logger }: KvStoreOptions,
  onChange: () => void,
): PinBook {
  const store = storeOf(kv);
  if (store === undefined) return new PinBook(new MemoryPinRecords());
  const log = logger.module("mcp");
  return new PinBook(new KvPinRecords({ store, clock, log, onChange }));
}

/** Creates the cache of documents of identity providers, which is empty without `config.kv`. */
export function createDocumentCache(
  { settings: { kv }, clock, logger }: KvStoreOptions,
): DocumentCache {
  const store = storeOf(kv);
  if (store === undefined) return noDocumentCache;
  return new KvDocumentCache({ store, clock, log: logger.module("identity") });
}

/** The vault, and what it is made of. */
export interface OpenVault {
  readonly vault: Vault;
  readonly store: KvStore;
  readonly seal: VaultSeal;
  readonly maxAgeMs: number;
}

/**
 * Opens the vault; `undefined` without `config.vault`.
 * @throws {Error} When its keys cannot be read.
 */
export function createVault(
  { settings: { kv, vault }, clock, logger }: VaultStoreOptions,
): OpenVault | undefined {
  const path = storeOf(kv);
  if (path === undefined || vault === undefined) return undefined;
  const { keys = [], keyFile, maxAge } = vault;
  const log = logger.module("identity");
  const source = keyFile === undefined
    ? fixedKeys(parseVaultKeys(keys.join("\n")))
    : new VaultKeyFile(keyFile, clock, log);
  const store = new KvStore({ store: path, clock });
  store.open().catch((error) =>
    log.warn("Cannot open the vault", { store: redactUrl(path), error })
  );
  const seal = new VaultSeal(() => source.keys());
  const maxAgeMs = parseDuration(maxAge);
  const randomId = () => crypto.randomUUID();
  const opened = new Vault({ store, clock, seal, randomId, maxAgeMs });
  return { vault: opened, store, seal, maxAgeMs };
}

function fixedKeys(keys: VaultKeys): Pick<VaultKeyFile, "keys"> {
  return { keys: () => keys };
}

function storeOf(kv: Settings["kv"]): string | undefined {
  return kv?.redis ?? kv?.url ?? kv?.path;
}
