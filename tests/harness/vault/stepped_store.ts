import type { JsonObject } from "../../../src/base/json.ts";
import type { KvHandle } from "../../../src/kv/kv_handle.ts";
import {
  type VaultId,
  type VaultKeys,
  VaultSeal,
} from "../../../src/identity/vault/vault_seal.ts";

/** A process that may end at any time: nothing that it has begun goes on then. */
export interface SteppedProcess {
  isRunning: boolean;
}

/** Steps of processes that wait for their turn. */
export class Steps {
  readonly #pending: {
    readonly process: SteppedProcess;
    run(): void;
  }[] = [];

  /** Number of processes that wait for their turn. */
  get size(): number {
    return this.#pending.length;
  }

  /** Resolves when the schedule lets the process go on; never after a crash. */
  turn(process: SteppedProcess): Promise<void> {
    return new Promise((run) => this.#pending.push({ process, run }));
  }

  /** Lets one of them go on. @param share In [0, 1), which one. */
  run(share: number): void {
    const index = Math.floor(share * this.#pending.length);
    const [chosen] = this.#pending.splice(index, 1);
    if (chosen?.process.isRunning) chosen.run();
  }
}

interface StoredEntry {
  readonly version: string;
  readonly value: unknown;
}

/** A store as Deno KV and Redis: compare-and-swap of entries, and lists by prefix. Processes may crash before and after each operation. */
export class SteppedStore {
  readonly #steps: Steps;
  readonly #onWritten: (value: unknown) => void;
  readonly #entries = new Map<string, StoredEntry>();
  #versions = 0;

  constructor(steps: Steps, onWritten: (value: unknown) => void) {
    this.#steps = steps;
    this.#onWritten = onWritten;
  }

  /** Opens the store for a process. */
  open(process: SteppedProcess): KvHandle {
    const turn = () => this.#steps.turn(process);
    return {
      read: async (key) => {
        await turn();
        const entry = this.#entries.get(nameOf(key));
        return entry ?? { value: null, version: null };
      },
      replace: async (key, version, { value }) => {
        await turn();
        const name = nameOf(key);
        const isSame = (this.#entries.get(name)?.version ?? null) === version;
        if (isSame) this.#write(name, value);
        await turn();
        return isSame;
      },
      commit: async (changes) => {
        await turn();
        for (const { key, next } of changes) {
          if (next === undefined) this.#entries.delete(nameOf(key));
          else this.#write(nameOf(key), next.value);
        }
        await turn();
        return true;
      },
      list: async (prefix) => {
        await turn();
        const start = nameOf(prefix).slice(0, -1);
        return [...this.#entries]
          .flatMap(([name, { value }]) => name.startsWith(start) ? value : []);
      },
      delete: () => Promise.reject(new Error("not used")),
      close: () => {},
    };
  }

  #write(name: string, value: unknown): void {
    this.#entries.set(name, { version: `${++this.#versions}`, value });
    this.#onWritten(value);
  }
}

function nameOf(key: Deno.KvKey): string {
  return JSON.stringify(key);
}

/** A seal that opens what the one of the gateway opens, without its cryptography: a schedule seals and opens a hundred times. */
export class ModelSeal extends VaultSeal {
  readonly #keys: () => VaultKeys;

  constructor(keys: () => VaultKeys) {
    super(keys);
    this.#keys = keys;
  }

  override seal(id: VaultId, value: JsonObject): string {
    const [key] = this.#keys();
    return JSON.stringify({ key, purpose: purposeOf(id), value });
  }

  override open(id: VaultId, sealed: string) {
    const { key, purpose, value } = JSON.parse(sealed);
    const keys = this.#keys();
    return purpose === purposeOf(id) && keys.includes(key)
      ? { value, isOutdated: key !== keys[0] }
      : undefined;
  }
}

function purposeOf(
  { issuer, subject, server, resource, client }: VaultId,
): string {
  return [issuer, subject, server, resource, client].join("\n");
}
