import type { ConfigText } from "./diagnostics/located_diagnostic.ts";
import { readConfigFiles } from "./read.ts";
import { watchConfig, type WatchOptions } from "./watch.ts";

/** Where configuration comes from, and how to learn that it changed. */
export interface ConfigurationSource {
  /** @throws {ConfigReadError} When it cannot be read. */
  read(): Promise<readonly ConfigText[]>;
  /** Resolves once changes are noticed; yields after each of them until `signal` aborts. */
  watch(options: WatchOptions): Promise<AsyncIterable<void>>;
}

/** What `-f` names: a file, a folder, or `-` for standard input, which never changes. */
export function fileSource(spec: string): ConfigurationSource {
  return {
    read: () => readConfigFiles(spec),
    watch: (options) => watchConfig(spec, options),
  };
}

/** A text in memory that never changes; `name` is how diagnostics call it. */
export function textSource(
  text: string,
  name = "<config>",
): ConfigurationSource {
  return {
    read: () => Promise.resolve([{ name, text }]),
    watch: () => Promise.resolve(noChanges()),
  };
}

async function* noChanges(): AsyncGenerator<void> {}
