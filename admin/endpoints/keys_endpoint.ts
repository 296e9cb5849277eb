import { json } from "../http/admin_responses.ts";
import type { AdminTarget } from "../target/target.ts";

/** Returns the state of keys and metadata of identity providers. */
export async function showKeys({ dataPlane }: AdminTarget): Promise<Response> {
  const { keySets, providerMetadata } = await dataPlane.call("describeState");
  return json({ keySets, providerMetadata });
}

/** Fetches keys and metadata of identity providers again, and returns their state. */
export async function refreshKeys(target: AdminTarget): Promise<Response> {
  await target.dataPlane.call("refreshKeys");
  return await showKeys(target);
}
