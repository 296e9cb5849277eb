import { valueAt } from "../../base/json.ts";
import { ApiError, type KubernetesApi } from "../client/kubernetes_api.ts";
import { createSelfSigned, type KeyPair } from "./self_signed.ts";

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
  const found = await api.find({ path: `${path}/${name}` });
  if (found !== undefined) return decode(found);
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
    if (!(error instanceof ApiError && error.code === CONFLICT)) throw error;
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
