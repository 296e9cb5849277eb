import type { ConfigText } from "../../config/diagnostics/located_diagnostic.ts";
import type { SourceScalars } from "../../config/source_secrets.ts";

/** A configuration that is or was in force. */
export interface PastConfiguration {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly appliedAt: number;
  readonly sources: readonly ConfigText[];
  /** See `Settings`. */
  readonly sensitiveHeaders: readonly string[];
  /** Of each source; see `LoadedConfig.findSecrets`. */
  readonly secrets: readonly SourceScalars[];
}

const MAX_CONFIGURATIONS = 50;
/** UTF-16 code units of all texts. */
const MAX_TEXT = 8 << 20;

/** The configurations that were in force since the start, the newest of them within a bounded size. */
export class ConfigurationHistory {
  /** Newest first. */
  #all: readonly PastConfiguration[] = [];

  /** The configurations that are remembered, newest first: the first one is in force. */
  get all(): readonly PastConfiguration[] {
    return this.#all;
  }

  /** Texts of the configuration in force; none before the first one. */
  get current(): readonly ConfigText[] {
    return this.#all[0]?.sources ?? [];
  }

  /** Remembers a configuration that is in force now. */
  add(configuration: PastConfiguration): void {
    const others = this.#all.filter(({ hash }) => hash !== configuration.hash);
    let size = 0;
    this.#all = [configuration, ...others].slice(0, MAX_CONFIGURATIONS)
      .filter((each, index) => {
        size += sizeOf(each);
        return index === 0 || size <= MAX_TEXT;
      });
  }

  /** Returns the configuration with a hash. */
  find(hash: string): PastConfiguration | undefined {
    return this.#all.find((each) => each.hash === hash);
  }
}

function sizeOf({ sources }: PastConfiguration): number {
  return sources.reduce((sum, { text }) => sum + text.length, 0);
}
