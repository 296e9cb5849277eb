import { AdminError, readAdmin } from "../client/admin_client.ts";
import { explain, type ExplainOptions } from "../ctl/show_explanation.ts";
import { Failure } from "../process/exit.ts";
import {
  forProxies,
  gatewayName,
  type GatewayTarget,
  isInCluster,
  withPods,
} from "./for_proxies.ts";

/** Explains a failed request of the gateway on this machine, or of the proxy of one in a cluster that knows it. */
export async function explainIn(
  options: ExplainOptions & GatewayTarget,
  { id, gateway }: {
    readonly id: string | undefined;
    readonly gateway: string | undefined;
  },
): Promise<void> {
  const name = gatewayName(gateway);
  const isRemote = id !== undefined && await isInCluster(options, name);
  if (!isRemote || name === undefined) {
    await forProxies(options, gateway, (options) => explain(options, id));
    return;
  }
  await withPods(options, name, async (pods) => {
    for (const { address } of pods) {
      const path = `/debug/requests/${encodeURIComponent(id)}`;
      const isKnown = await readAdmin(address, path, "cause").then(
        () => true,
        notFound,
      );
      if (isKnown) return await explain({ ...options, ...address }, id);
    }
    throw new Failure(
      `Cannot explain: none of the ${pods.length} proxies of gateway/${name} remembers the request ${id}`,
    );
  });
}

function notFound(error: unknown): false {
  if (error instanceof AdminError && error.status === 404) return false;
  throw error;
}
