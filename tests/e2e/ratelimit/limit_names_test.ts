import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  budgetsOf,
  byUser,
  limitedRoute,
  send,
  upstreamThatSaysOk,
} from "../../harness/gateway/limited_gateway.ts";
import { PatientClock } from "../../harness/time/patient_clock.ts";

Deno.test("global limits with the same words go by the same numbers in the log as in /config_dump", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using upstream = upstreamThatSaysOk();
    await using gateway = await startTestGateway(
      {
        config: { kv: { path: `${folder}/limits.db` } },
        routes: [limitedRoute(upstream, {
          domain: "fleet",
          descriptors: [
            byUser({ requests: 2 }),
            { ...byUser({ requests: 2 }), entries: [everybody] },
          ],
        })],
      },
      {},
      [],
      { clock: new PatientClock() },
    );

    const statuses = [];
    for (const user of ["anna", "otto", "eve"]) {
      statuses.push((await send(gateway, user)).status);
    }
    const entries = (await budgetsOf(gateway)).map(({ entry }) => entry);
    const [, refusing] = /Limit \\?"(.*?)\\?" of domain/.exec(
      gateway.accessLog.at(-1) ?? "",
    ) ?? [];

    assert.deepEqual(statuses, [200, 200, 429]);
    assert.deepEqual(entries, [
      "2 requests per hour, by user",
      "2 requests per hour, by user (2)",
    ]);
    assert.equal(refusing, entries[1]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const everybody = { key: "user", value: "'everybody'" };
