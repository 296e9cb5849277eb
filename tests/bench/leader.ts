import { freePort } from "../harness/free_port.ts";
import { type Neighbour, startProcess } from "./neighbours.ts";
import type { TlsFiles } from "./nginx.ts";

/** Starts agentgateway with one route to the upstream, if `AGENTGATEWAY_BIN` names its executable. */
export async function startLeader(
  upstreamPort: number,
  tls?: TlsFiles,
): Promise<Neighbour | undefined> {
  const executable = Deno.env.get("AGENTGATEWAY_BIN");
  if (executable === undefined) return undefined;
  const port = freePort();
  const local = () => `127.0.0.1:${freePort()}`;
  const config = {
    config: {
      adminAddr: local(),
      statsAddr: local(),
      readinessAddr: local(),
      logging: { level: "error", filter: "false" },
    },
    binds: [{
      port,
      listeners: [{
        ...(tls && { protocol: "HTTPS", tls }),
        routes: [{ backends: [{ host: `127.0.0.1:${upstreamPort}` }] }],
      }],
    }],
  };
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return await startProcess([executable, "-f", file], port, "alone");
}
