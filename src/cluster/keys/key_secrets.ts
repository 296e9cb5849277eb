import { createHash, randomBytes } from "node:crypto";
import { describeError } from "../../base/errors.ts";
import { valueAt } from "../../base/json.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import type { KubernetesObject } from "../client/kubernetes_object.ts";
import { credentialsLabel } from "./key_collections.ts";

/** A key that was read, without the key itself. */
export interface SecretKey {
  /** SHA-256 in base64url. */
  readonly hash: string;
  /** First characters, for people. */
  readonly prefix: string;
}

/** Reason why there is no key. */
export interface MissingKey {
  readonly reason: "SecretNotFound" | "InvalidSecret" | "Unavailable";
  readonly problem: string;
}

/** Dependencies of Secrets with keys. */
export interface KeySecretsOptions {
  readonly api: KubernetesApi;
  readonly policyApiGroup: string;
}

const CONFLICT = 409;
const FORBIDDEN = 403;
/** Shorter keys can be guessed. */
const MIN_LENGTH = 20;
const PREFIX_LENGTH = 6;

/** Makes Secrets with new keys. */
export class KeySecrets {
  readonly #options: KeySecretsOptions;

  constructor(options: KeySecretsOptions) {
    this.#options = options;
  }

  /** Makes a Secret with a new key for a `GatewayKey`. */
  async create(
    object: KubernetesObject,
  ): Promise<SecretKey | MissingKey> {
    const { api, policyApiGroup } = this.#options;
    const { apiVersion, kind = "GatewayKey", metadata } = object;
    const name = secretNameOf(object);
    const label = credentialsLabel(policyApiGroup);
    const key = `gk_${randomBytes(32).toString("base64url")}`;
    const { namespace, uid } = metadata;
    try {
      await api.request({
        method: "POST",
        path: `/api/v1/namespaces/${namespace}/secrets`,
        body: {
          apiVersion: "v1",
          kind: "Secret",
          metadata: {
            name,
            labels: { [label]: "key" },
            ownerReferences: [{
              apiVersion: apiVersion ?? `${policyApiGroup}/v1alpha1`,
              ...{ kind, name: metadata.name, uid },
            }],
          },
          stringData: { key },
        },
      });
      return keyOf(key);
    } catch (error) {
      return describe(error, `${namespace}/${name}`, label);
    }
  }
}

function describe(
  error: unknown,
  secret: string,
  label: string,
): MissingKey {
  const reason = "SecretNotFound";
  const code = error instanceof ApiError ? error.code : undefined;
  if (code === CONFLICT) {
    return {
      reason,
      problem:
        `the Secret ${secret} has not the label ${label}: key, so that the gateway does not read it`,
    };
  }
  if (code === FORBIDDEN) {
    return {
      reason,
      problem:
        `there is no Secret ${secret} with the label ${label}: key, and the gateway may not create one: create it, or add the namespace to keys.secretNamespaces of the chart`,
    };
  }
  return { reason: "Unavailable", problem: describeError(error) };
}

/** Reads the key of a Secret. */
export function readKey(
  secret: KubernetesObject,
): SecretKey | MissingKey {
  const reason = "InvalidSecret";
  const textOf = (entry: string) => {
    const value = valueAt(secret, "data", entry);
    return typeof value === "string"
      ? new TextDecoder().decode(Uint8Array.fromBase64(value))
      : undefined;
  };
  const key = textOf("key");
  if (key !== undefined) {
    return /^[\x21-\x7e]+$/.test(key) && key.length >= MIN_LENGTH
      ? keyOf(key)
      : {
        reason,
        problem:
          `the entry "key" of the Secret has to have at least ${MIN_LENGTH} printable characters of ASCII, without spaces or line ends`,
      };
  }
  const [, digest] = /^sha256:([0-9a-f]{64})$/.exec(textOf("keyHash") ?? "") ??
    [];
  return digest === undefined
    ? {
      reason,
      problem:
        'the Secret has neither an entry "key" nor an entry "keyHash" of "sha256:" and 64 hexadecimal digits',
    }
    : { hash: encode(Uint8Array.fromHex(digest)), prefix: "" };
}

function keyOf(key: string): SecretKey {
  const hash = encode(createHash("sha256").update(key).digest());
  return { hash, prefix: key.slice(0, PREFIX_LENGTH) };
}

function encode(digest: Uint8Array): string {
  return digest.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Returns the name of the Secret with the key of an object. */
export function secretNameOf(object: KubernetesObject): string {
  const name = valueAt(object, "spec", "secretName");
  return typeof name === "string" && name !== "" ? name : object.metadata.name;
}
