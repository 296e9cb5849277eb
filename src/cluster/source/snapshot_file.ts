import type { Clock } from "../../base/clock.ts";
import {
  isJsonObject,
  objectAt,
  parseJson,
  stringMember,
} from "../../base/json.ts";
import { runInSlices } from "../../base/slices.ts";
import {
  isKubernetesObject,
  type KubernetesObject,
} from "../client/kubernetes_object.ts";

/** Objects by the key of their collection. */
export type CollectionContents = ReadonlyMap<
  string,
  readonly KubernetesObject[]
>;

/** Contents of a snapshot file. */
export interface Snapshot {
  readonly contents: CollectionContents;
  /** Time of the last write. */
  readonly writtenAt: number;
}

/** A file cannot be used as a snapshot; the message says why. */
class SnapshotError extends Error {
  override readonly name = "SnapshotError";
}

/** Format of the file. */
const FORMAT = 1;
/** Only the owner may read it: it has Secrets. */
const MODE = 0o600;
const CHUNK_LENGTH = 64 * 1024;

/**
 * A file with all that a gateway has read of its cluster: one line of JSON about the whole, then one for each object.
 *
 * The first line has the API server, the collections and the number of objects, so that a file of another cluster, of another version
 * of the gateway, or that is incomplete is not used.
 */
export class SnapshotFile {
  readonly #path: string;
  readonly #server: string;
  readonly #clock: Clock;

  constructor(
    { path, server, clock }: {
      readonly path: string;
      /** Address of the API server. */
      readonly server: string;
      readonly clock: Clock;
    },
  ) {
    this.#path = path;
    this.#server = server;
    this.#clock = clock;
  }

  /** Replaces the file in one step. @throws {Error} When it cannot be written. */
  async write(contents: CollectionContents): Promise<void> {
    const chunks = await runInSlices(this.#format(contents), this.#clock);
    const staging = `${this.#path}.${crypto.randomUUID()}.tmp`;
    try {
      using file = await Deno.open(staging, {
        ...{ write: true, createNew: true },
        mode: MODE,
      });
      for (const chunk of chunks) await writeAll(file, chunk);
      await file.sync();
      await Deno.rename(staging, this.#path);
    } catch (error) {
      await Deno.remove(staging).catch((missing: unknown) => {
        if (!(missing instanceof Deno.errors.NotFound)) throw missing;
      });
      throw error;
    }
  }

  *#format(contents: CollectionContents): Generator<void, readonly string[]> {
    let count = 0;
    for (const objects of contents.values()) count += objects.length;
    const header = {
      format: FORMAT,
      server: this.#server,
      writtenAt: new Date(this.#clock.now()).toISOString(),
      collections: [...contents.keys()],
      count,
    };
    const chunks: string[] = [];
    let chunk = `${JSON.stringify(header)}\n`;
    for (const [key, objects] of contents) {
      for (const object of objects) {
        chunk += `${JSON.stringify({ key, object })}\n`;
        if (chunk.length >= CHUNK_LENGTH) {
          chunks.push(chunk);
          chunk = "";
        }
        yield;
      }
    }
    return [...chunks, chunk];
  }

  /**
   * Reads the file.
   * @param keys The collections that it must have.
   * @throws {SnapshotError} When there is none, or it does not fit.
   */
  async read(keys: readonly string[]): Promise<Snapshot> {
    const lines = (await this.#text()).split("\n");
    const header = parseJson(lines[0] ?? "");
    const writtenAt = this.#checkHeader(header, keys, lines.length - 2);
    const contents = new Map<string, KubernetesObject[]>(
      keys.map((key) => [key, []]),
    );
    for (const line of lines.slice(1, -1)) {
      const { key, object } = objectAt(parseJson(line));
      const objects = contents.get(String(key));
      if (objects === undefined || !isKubernetesObject(object)) {
        throw new SnapshotError("it is damaged");
      }
      objects.push(object);
    }
    return { contents, writtenAt };
  }

  async #text(): Promise<string> {
    try {
      return await Deno.readTextFile(this.#path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      throw new SnapshotError("there is none yet");
    }
  }

  /** Returns the time of the last write. */
  #checkHeader(
    header: unknown,
    keys: readonly string[],
    count: number,
  ): number {
    if (!isJsonObject(header) || header["format"] !== FORMAT) {
      throw new SnapshotError("it is no snapshot of this version");
    }
    if (header["server"] !== this.#server) {
      throw new SnapshotError(
        `it is of the API server ${String(header["server"])}`,
      );
    }
    if (JSON.stringify(header["collections"]) !== JSON.stringify(keys)) {
      throw new SnapshotError("it has other kinds or namespaces");
    }
    const writtenAt = Date.parse(stringMember(header, "writtenAt") ?? "");
    if (header["count"] !== count || Number.isNaN(writtenAt)) {
      throw new SnapshotError("it is damaged");
    }
    return writtenAt;
  }
}

/** Writes a string; the file's stream would return before the bytes are in the file. */
async function writeAll(file: Deno.FsFile, text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await file.write(rest));
}
