import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { passedCapabilities } from "../clients/client.ts";
import { metaForEra } from "../clients/revision_results.ts";
import {
  type Era,
  isLogLevel,
  META,
  metaOf,
  passingMeta,
} from "../protocol/revisions.ts";
import { parseRpc } from "../protocol/rpc_messages.ts";

const MAX_KEPT = 64;
const MAX_LENGTH = 2048;

/** Content of `_meta` of a request. */
export interface MetaFacts {
  /** Has nothing but `_meta`. */
  readonly params: JsonObject;
  /** Capabilities of a client of the modern era that servers are to know. */
  readonly capabilities: JsonObject;
  /** Members for a server, by the era of both ends. */
  readonly passed: Readonly<Record<Era, JsonObject>>;
}

/** Keeps what the latest texts of `_meta` say: a peer sends the same one each time. */
class KeptMetas<T> {
  readonly #kept = new Map<string, T>();
  readonly #read: (holder: JsonObject) => T;

  /** @param read Reads an object that has the `_meta`, or none. */
  constructor(read: (holder: JsonObject) => T) {
    this.#read = read;
  }

  /** @param text JSON, one character per byte; empty without `_meta`. */
  read(text: string): T {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const value = parseRpc(Buffer.from(text, "latin1").toString());
    const read = this.#read(isJsonObject(value) ? { _meta: value } : {});
    if (text.length > MAX_LENGTH) return read;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(text, read);
    return read;
  }
}

/** Creates a reader of `_meta` of requests. */
export function requestMetas(): KeptMetas<MetaFacts> {
  return new KeptMetas(factsOf);
}

/** Creates a reader of `_meta` of results: JSON for clients of an era; `undefined` for none. */
export function resultMetas(era: Era): KeptMetas<Uint8Array | undefined> {
  return new KeptMetas((result) => {
    const meta = metaForEra(era, result);
    return Object.keys(meta).length === 0
      ? undefined
      : Buffer.from(JSON.stringify(meta));
  });
}

/** Returns the facts about parameters. */
export function factsOf(params: JsonObject): MetaFacts {
  const meta = metaOf(params);
  const { [META.LOG_LEVEL]: level, [META.CLIENT_CAPABILITIES]: declared } =
    meta;
  const passing = passingMeta(params);
  return {
    params,
    capabilities: passedCapabilities(declared, "modern"),
    passed: {
      legacy: passing,
      modern: isLogLevel(level)
        ? { ...passing, [META.LOG_LEVEL]: level }
        : passing,
    },
  };
}

/** Reports whether the client of a request wants reports of progress. */
export function wantsProgress({ params }: MetaFacts): boolean {
  return metaOf(params)["progressToken"] !== undefined;
}
