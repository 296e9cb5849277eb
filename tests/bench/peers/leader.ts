import { freePort } from "../../harness/process/free_port.ts";
import { type Neighbour, startProcess } from "../neighbours.ts";
import type { TlsFiles } from "../nginx.ts";

/** Path of the executable of agentgateway; `undefined` where it takes no part. */
export const leaderExecutable = Deno.env.get("AGENTGATEWAY_BIN");

/** A route of agentgateway, in its own format. */
export interface LeaderRoute {
  readonly policies?: Readonly<Record<string, unknown>>;
  readonly backends: readonly unknown[];
}

/** Starts agentgateway with one route, by default to the upstream, if `AGENTGATEWAY_BIN` names its executable. */
export async function startLeader(
  upstreamPort: number,
  tls?: TlsFiles,
  route: LeaderRoute = { backends: [{ host: `127.0.0.1:${upstreamPort}` }] },
): Promise<Neighbour | undefined> {
  if (leaderExecutable === undefined) return undefined;
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
        routes: [route],
      }],
    }],
  };
  const file = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(file, JSON.stringify(config));
  return await startProcess([leaderExecutable, "-f", file], port, "alone");
}
