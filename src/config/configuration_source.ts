import type { ServiceSlices } from "../api/resources/cluster_kinds.ts";
import type { ResourceSet } from "../api/resources/resource_set.ts";
import type { ConfigText } from "./diagnostics/located_diagnostic.ts";
import {
  areWritable,
  readConfigFiles,
  writeConfigFile,
} from "./config_files.ts";
import { watchConfig, type WatchOptions } from "./watch.ts";

/** A source of configuration that can be watched for changes. */
export interface ConfigurationSource {
  /** Reads the current texts. @throws {ConfigReadError} When the source cannot be read. */
  read(): Promise<readonly ConfigText[]>;
  /** Resolves once watching has started; then yields after each change until `signal` aborts. */
  watch(options: WatchOptions): Promise<AsyncIterable<void>>;
  /** Reports whether `write` can succeed. */
  isWritable?(): Promise<boolean>;
  /** Replaces one of the texts, by its name. @throws {Error} When it cannot be written. */
  write?(name: string, text: string): Promise<void>;
}

/** A source with resources that do not come from texts, such as those of a cluster. */
export interface ObjectSource extends ConfigurationSource {
  /** Returns the resources as they are now. */
  objects(): ObjectResources;
  /** Returns the endpoints that have changed since the last call of either; `undefined` if anything else has, too. */
  changedEndpoints(): ServiceSlices | undefined;
  /** Returns why the resources may be out of date, such as an API server that is away; `undefined` while they are not. */
  problem(): string | undefined;
}

/** Reports whether a source has resources that do not come from texts. */
export function isObjectSource(
  source: ConfigurationSource,
): source is ObjectSource {
  return "objects" in source;
}

/** Resources at one moment. */
export interface ObjectResources {
  readonly resources: ResourceSet;
  /** Equal when nothing has changed. */
  readonly version: string;
}

/** Creates the source for `-f`: a file, a directory, or `-` for standard input, which never changes. */
export function fileSource(spec: string): ConfigurationSource {
  return {
    read: () => readConfigFiles(spec),
    watch: (options) => watchConfig(spec, options),
    isWritable: () => areWritable(spec),
    write: (name, text) => writeConfigFile(spec, name, text),
  };
}

/** Creates a source from a string; diagnostics call it `name`. */
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
