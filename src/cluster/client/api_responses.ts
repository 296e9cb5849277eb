import { isJsonObject, objectAt } from "../../base/json.ts";
import { ApiError } from "./kubernetes_api.ts";
import {
  isKubernetesObject,
  type KubernetesObject,
} from "./kubernetes_object.ts";

/** etcd rejects objects above 1.5 MB. */
const MAX_EVENT_LENGTH = 8 << 20;

/** A page of a list. */
export interface ListPage {
  readonly items: readonly KubernetesObject[];
  /** Passed on to get the next page; empty for the last. */
  readonly next: string;
  readonly version: string;
}

/** Reads a page of a list. Items have no `kind` and `apiVersion` of their own; the list has. */
export function readList(page: unknown): ListPage {
  if (!isJsonObject(page)) throw invalid("a list");
  const { items, metadata, kind, apiVersion } = page;
  if (!isJsonObject(metadata)) throw invalid("a list");
  const { resourceVersion, continue: next = "" } = metadata;
  if (
    typeof resourceVersion !== "string" || typeof next !== "string" ||
    typeof kind !== "string" || typeof apiVersion !== "string"
  ) throw invalid("a list");
  // `items` is null in empty lists of some servers.
  const own = Array.isArray(items) ? items : [];
  return {
    items: own.map((item: unknown) => {
      if (!isKubernetesObject(item)) throw invalid("an object of a list");
      return { ...item, apiVersion, kind: kind.replace(/List$/, "") };
    }),
    next,
    version: resourceVersion,
  };
}

/** Reads the error that ends a watch. */
export function readStatus(status: unknown): ApiError {
  const { code, reason, message } = objectAt(status);
  return new ApiError(
    typeof code === "number" ? code : 500,
    typeof reason === "string" ? reason : "",
    `The API server ended a watch: ${String(message)}`,
  );
}

/** Creates the error for a response that no API server sends. */
export function invalid(what: string): TypeError {
  return new TypeError(`The API server sent an invalid response: ${what}`);
}

/** Yields the lines of a watch. @throws {TypeError} When a line is longer than any event can be. */
export async function* readLines(response: Response): AsyncGenerator<string> {
  let rest = "";
  const chunks = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MAX_EVENT_LENGTH) {
      throw invalid("an event that is too long");
    }
    for (const line of lines) if (line !== "") yield line;
  }
}
