/**
 * Drills on a real API server: `make cluster-drills`, or `make cluster-drills ARGS=scale` for one of them. Prints figures, which depend
 * on the machine, and fails when a promise is broken.
 */
import type { Finding } from "../../drills/drill.ts";
import { startCluster } from "./drill_cluster.ts";
import { burstDrill, leaderDrill, outageDrill } from "./outage_drill.ts";
import { rightsDrill, tokenDrill } from "./access_drill.ts";
import { scaleDrill } from "./scale_drill.ts";
import { networkDrill } from "./network_drill.ts";
import { rateDrill } from "./rate_drill.ts";
import { tenantDrill } from "./tenant_drill.ts";
import {
  definitionsDrill,
  pagingDrill,
  pagingFlags,
  snapshotDrill,
} from "./start_drill.ts";

const drills = {
  scale: scaleDrill,
  outage: outageDrill,
  leader: leaderDrill,
  burst: burstDrill,
  rights: rightsDrill,
  token: tokenDrill,
  snapshot: snapshotDrill,
  definitions: definitionsDrill,
  paging: pagingDrill,
  network: networkDrill,
  rate: rateDrill,
  tenant: tenantDrill,
};

for (const [name, run] of Object.entries(drills)) {
  if (Deno.args.length > 0 && !Deno.args.includes(name)) continue;
  await print({ drill: name, figures: {} });
  await using cluster = await startCluster({
    definitions: name !== "definitions",
    flags: name === "paging" ? pagingFlags : [],
  });
  for (const finding of await run(cluster)) await print(finding);
}
Deno.exit(0);

async function print({ drill, figures }: Finding): Promise<void> {
  const text = Object.entries(figures).map(([name, value]) =>
    `${name} ${value}`
  );
  await Deno.stdout.write(
    new TextEncoder().encode(`${drill}: ${text.join(", ")}\n`),
  );
}
