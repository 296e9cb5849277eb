import { describeError } from "../../base/errors.ts";
import type { ConfigurationSource } from "../../config/configuration_source.ts";
import type { ConfigText } from "../../config/diagnostics/located_diagnostic.ts";
import type { ConfigurationHistory } from "./configuration_history.ts";

/** Dependencies of a writer. */
export interface WriterOptions {
  readonly source: ConfigurationSource;
  readonly history: ConfigurationHistory;
  /** Reads and applies the source. */
  readonly reload: () => Promise<void>;
}

/** Replaces files of a configuration, and applies them. */
export class SourceWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Writes files and applies them; watchers see several as one change. Returns why not, if so. */
  async write(files: readonly ConfigText[]): Promise<string | undefined> {
    const { source, reload } = this.#options;
    // Asked again: a file may have become a link, which must not be replaced.
    if (source.write === undefined || !await source.isWritable?.()) {
      return "the source cannot be written";
    }
    let writing = "";
    try {
      if (!await this.#isInForce()) {
        return "the source has changed and is not in force: fix it where it was changed, or undo that";
      }
      for (const { name, text } of files) {
        writing = name;
        await source.write(name, text);
      }
    } catch (error) {
      return `Cannot write "${writing}": ${describeError(error)}`;
    }
    await reload();
    return undefined;
  }

  /** Reports whether the source is still as it was applied: a draft must not overwrite what others write. */
  async #isInForce(): Promise<boolean> {
    const { source, history } = this.#options;
    const sources = history.current;
    const found = await source.read();
    return found.length === sources.length &&
      sources.every(({ name, text }) =>
        found.some((each) => each.name === name && each.text === text)
      );
  }
}
