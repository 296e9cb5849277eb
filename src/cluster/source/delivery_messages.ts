import { objectAt, parseJson, stringMember } from "../../base/json.ts";
import {
  isKubernetesObject,
  type KubernetesObject,
} from "../client/kubernetes_object.ts";

/** Path of the stream that a controller serves: a line of JSON for each message, all objects first, then what changes. */
export const DELIVERY_PATH = "/v1/configuration";

/** Pause after which a stream without changes has a message. */
export const BEAT_MS = 5_000;

/** A message of the stream. */
export type DeliveryMessage =
  /** An object that came or changed; `key` is that of its collection. */
  | { readonly key: string; readonly object: KubernetesObject }
  /** An object that went, by `namespace/name`. */
  | { readonly key: string; readonly gone: string }
  /** Ends a change, which is complete with it; `problem` says why it may be old. */
  | { readonly end: true; readonly problem: string | undefined };

/** Parses a message. @throws {TypeError} When it is invalid. */
export function parseMessage(line: string): DeliveryMessage {
  const fields = objectAt(parseJson(line));
  const { key, object, gone, end } = fields;
  if (end === true) return { end, problem: stringMember(fields, "problem") };
  if (typeof key === "string" && typeof gone === "string") return { key, gone };
  if (typeof key === "string" && isKubernetesObject(object)) {
    return { key, object };
  }
  throw new TypeError("The controller sent an invalid message");
}
