import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import type { RefreshGrant } from "../../../../src/identity/oauth/grants/authorization_code.ts";
import { GrantRenewals } from "../../../../src/identity/oauth/grants/grant_renewals.ts";
import { MemoryGrantStore } from "../../../../src/identity/oauth/grants/grant_store.ts";
import { MemoryRecords } from "../../../../src/kv/kv_records.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const grant: RefreshGrant = {
  grant: "g",
  client: "c",
  issuer: "https://gateway.example/mcp",
  scope: undefined,
  signs: false,
  startedAt: 0,
  number: 0,
  providerToken: "planted-refresh-token",
};

/** Replicas whose clocks differ from that of the store by so much, at a provider that issues tokens for an hour. */
function startReplicas(skews: readonly number[]) {
  const time = new FakeClock();
  const stored = new MemoryRecords(time);
  const grants = new MemoryGrantStore(time);
  const written: string[] = [];
  const site = { time, requests: 0, written };
  const replicas = skews.map((skewMs) =>
    new GrantRenewals({
      records: {
        read: (key) => stored.read(key),
        replace(key, version, next) {
          written.push(JSON.stringify([key, next]));
          return stored.replace(key, version, next);
        },
      },
      keys: ["a secret of at least 32 characters"],
      grants,
      clock: {
        now: () => time.now() + skewMs,
        monotonic: () => time.monotonic(),
        setTimer: (...timer) => time.setTimer(...timer),
      },
      provider: {
        refresh: () => {
          site.requests++;
          return Promise.resolve({
            accessToken: `planted-access-token ${site.requests}`,
            refreshToken: undefined,
            scope: undefined,
            expiresIn: 3600,
          });
        },
      },
    })
  );
  return { ...site, site, replicas };
}

Deno.test("replicas whose clocks differ by 50 seconds share a renewal for a minute, and the store has no token in clear", async () => {
  const { site, time, replicas, written } = startReplicas([0, -50_000, 50_000]);
  for (const pauseMs of [0, 30_000, 29_000]) {
    time.advance(pauseMs);
    for (const replica of replicas) {
      const { accessToken, expiresIn } = await replica.renew(
        grant,
        undefined,
        new Cancellation(),
      );
      assert.equal(accessToken, "planted-access-token 1");
      assert((expiresIn ?? 0) > 3480 && (expiresIn ?? 0) <= 3600);
    }
  }
  assert.equal(site.requests, 1);
  assert(written.length > 0);
  assert(!written.join("").includes("planted"));
});

Deno.test("tokens of a renewal are not for other numbers or scopes of the grant, and a minute later the token is used up", async () => {
  const { site, time, replicas: [replica] } = startReplicas([0]);
  assert(replica !== undefined);
  const renew = (number: number, scope?: string) =>
    replica.renew({ ...grant, number }, scope, new Cancellation());

  const all = [
    await renew(0),
    await renew(0, "read"),
    await renew(1),
    await renew(1),
  ];
  time.advance(61_000);

  assert.deepEqual(
    all.map(({ accessToken }) => accessToken.slice(-1)),
    ["1", "2", "3", "3"],
  );
  await assert.rejects(renew(1), /used before; its grant has ended/);
  assert.equal(site.requests, 3);
});
