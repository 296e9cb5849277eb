import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { passedCapabilities } from "../clients/client.ts";
import { metaForEra } from "../clients/revision_results.ts";
import {
  type Era,
  isLogLevel,
  META,
  metaOf,
  modernRevisions,
  passingMeta,
} from "../protocol/revisions.ts";
import { parseRpc } from "../protocol/rpc_messages.ts";

const MAX_KEPT = 64;
const MAX_LENGTH = 2048;

/** Content of `_meta` of a request. */
export interface MetaFacts {
  /** Has nothing but `_meta`. */
  readonly params: JsonObject;
  /** Revision of the modern era, if the request is complete in it. */
  readonly revision: string | undefined;
  /** Capabilities of a client of the modern era that servers are to know. */
  readonly capabilities: JsonObject;
  /** Members for a server, by the era of both ends. */
  readonly passed: Readonly<Record<Era, JsonObject>>;
}

/** Keeps what the latest texts of `_meta` say: a peer sends the same one each time. */
class KeptMetas<T> {
  readonly #kept = new Map<string, { readonly value: T }>();
  readonly #read: (holder: JsonObject) => T;
  /** Value without `_meta`. */
  readonly #absent: T;

  /** @param read Reads an object that has the `_meta`, or none. */
  constructor(read: (holder: JsonObject) => T) {
    this.#read = read;
    this.#absent = read({});
  }

  /** @param text JSON, one character per byte; empty without `_meta`. */
  read(text: string): T {
    if (text === "") return this.#absent;
    const known = this.#kept.get(text);
    if (known !== undefined) return known.value;
    const parsed = parseRpc(Buffer.from(text, "latin1").toString());
    const value = this.#read(isJsonObject(parsed) ? { _meta: parsed } : {});
    if (text.length > MAX_LENGTH) return value;
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    this.#kept.set(text, { value });
    return value;
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
  const {
    [META.VERSION]: revision,
    [META.LOG_LEVEL]: level,
    [META.CLIENT_CAPABILITIES]: declared,
  } = meta;
  const isComplete = typeof revision === "string" &&
    modernRevisions.has(revision) && isJsonObject(declared);
  const passing = passingMeta(params);
  return {
    params,
    revision: isComplete ? revision : undefined,
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
