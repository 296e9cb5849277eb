/** The store of the API server, past the API server. */
import { ETCD_PORT } from "../api_server.ts";

/** Calls the store's API over JSON, such as `range` (https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/). */
export async function callStore(path: string, body: object): Promise<unknown> {
  const response = await fetch(
    `http://127.0.0.1:${ETCD_PORT}/v3/kv/${path}`,
    { method: "POST", body: JSON.stringify(body) },
  );
  const result: unknown = await response.json();
  if (response.ok) return result;
  throw new Error(`${path}: ${JSON.stringify(result)}`);
}
