import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log/log.ts";
import { readFileText, readFileTextSync } from "../../base/regular_file.ts";
import type { VaultKeys } from "./vault_seal.ts";

const MIN_KEY_LENGTH = 32;
const CHECK_MS = 10_000;

/** Reads keys, one a line. @throws {TypeError} When there is none, or one is too short; the message does not show it. */
export function parseVaultKeys(text: string): VaultKeys {
  const [first, ...others] = text.split("\n").map((line) => line.trim())
    .filter((line) => line !== "");
  if (first === undefined) throw new TypeError("it has no key");
  if ([first, ...others].some(({ length }) => length < MIN_KEY_LENGTH)) {
    throw new TypeError(
      `it has a key that is shorter than ${MIN_KEY_LENGTH} characters`,
    );
  }
  return [first, ...others];
}

/** Keys in a file, which is read again within some seconds: a new key needs no restart. */
export class VaultKeyFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #text: string;
  #keys: VaultKeys;
  #checkedAt: number;

  /** @throws {Error} When the file has no usable keys. */
  constructor(path: string, clock: Clock, log: Log) {
    this.#path = path;
    this.#clock = clock;
    this.#log = log;
    try {
      this.#text = readFileTextSync(path);
      this.#keys = parseVaultKeys(this.#text);
    } catch (error) {
      throw new Error(
        `Cannot use the keys of the vault in "${path}": ${
          describeError(error)
        }`,
      );
    }
    this.#checkedAt = clock.monotonic();
  }

  /** Returns the keys as they were read last. */
  keys(): VaultKeys {
    const now = this.#clock.monotonic();
    if (now - this.#checkedAt >= CHECK_MS) {
      this.#checkedAt = now;
      void this.#refresh();
    }
    return this.#keys;
  }

  async #refresh(): Promise<void> {
    try {
      const text = await readFileText(this.#path);
      if (text === this.#text) return;
      this.#keys = parseVaultKeys(text);
      this.#text = text;
      this.#log.info("Keys of the vault have changed", { file: this.#path });
    } catch (error) {
      this.#log.warn("Cannot read the keys of the vault; the last ones stay", {
        file: this.#path,
        error,
      });
    }
  }
}
