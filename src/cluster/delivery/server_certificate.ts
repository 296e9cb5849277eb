import { valueAt } from "../../base/json.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import { createSelfSigned, type KeyPair } from "./self_signed.ts";

const NOT_FOUND = 404;
const CONFLICT = 409;

/**
 * Returns the certificate that all replicas of a controller serve proxies with, from a Secret that the first of them makes.
 *
 * Its type is `Opaque`, so that no listener can refer to it.
 * @throws {Error} When it can neither be read nor created.
 */
export async function readServerCertificate(
  { api, namespace, name, host, now }: {
    readonly api: KubernetesApi;
    readonly namespace: string;
    readonly name: string;
    /** DNS name of the controller. */
    readonly host: string;
    /** Milliseconds since the epoch. */
    readonly now: number;
  },
): Promise<KeyPair> {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  try {
    return decode(await api.request({ path: `${path}/${name}` }));
  } catch (error) {
    if (!hasCode(error, NOT_FOUND)) throw error;
  }
  const { cert, key } = createSelfSigned(host, now);
  try {
    await api.request({
      method: "POST",
      path,
      body: {
        apiVersion: "v1",
        kind: "Secret",
        type: "Opaque",
        metadata: { name, namespace },
        stringData: { "tls.crt": cert, "tls.key": key },
      },
    });
    return { cert, key };
  } catch (error) {
    // Another replica was faster.
    if (!hasCode(error, CONFLICT)) throw error;
    return decode(await api.request({ path: `${path}/${name}` }));
  }
}

function decode(secret: unknown): KeyPair {
  const read = (entry: string) => {
    const value = valueAt(secret, "data", entry);
    if (typeof value === "string") return atob(value);
    throw new TypeError(
      `The Secret with the controller's certificate has no "${entry}": delete it, and restart the controller`,
    );
  };
  return { cert: read("tls.crt"), key: read("tls.key") };
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof ApiError && error.code === code;
}
