import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import {
  EgressPolicy,
  openEgress,
} from "../../../../src/base/wire/egress_policy.ts";
import { ClientDocuments } from "../../../../src/identity/oauth/clients/client_documents.ts";
import { OAuthError } from "../../../../src/identity/oauth/protocol/oauth_error.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const clock = systemClock;
const never = new Cancellation();

for (
  const [what, addresses] of [
    ["a private address", ["10.0.0.7"]],
    ["a public and a private address", ["93.184.216.34", "127.0.0.1"]],
    ["no address", []],
  ] as const
) {
  Deno.test(`ClientDocuments fetches nothing from a host with ${what}`, async () => {
    const documents = new ClientDocuments({
      clock,
      egress: openEgress,
      trustedHosts: [],
      resolve: () => Promise.resolve(addresses),
    });

    await assert.rejects(
      documents.find("https://client.example.com/client.json", never),
      (error) =>
        error instanceof OAuthError && error.code === "invalid_client" &&
        /not on the public internet/.test(error.message),
    );
  });
}

for (
  const url of [
    "https://client.example.com/",
    "https://client.example.com",
    "https://user@client.example.com/c.json",
    "https://client.example.com/c.json#x",
    "https://client.example.com/a/../c.json",
    "https://CLIENT.example.com/c.json",
    `https://client.example.com/${"x".repeat(1100)}`,
  ]
) {
  Deno.test(`ClientDocuments rejects ${url.slice(0, 60)} without resolving its host`, async () => {
    let resolved = 0;
    const documents = new ClientDocuments({
      clock,
      egress: openEgress,
      trustedHosts: [],
      resolve: () => Promise.resolve((resolved++, [])),
    });

    await assert.rejects(documents.find(url, never), OAuthError);
    assert.equal(resolved, 0);
  });
}

Deno.test("ClientDocuments remembers a failure for 30 seconds, so that nobody makes it fetch without end", async () => {
  const fakeClock = new FakeClock();
  let resolved = 0;
  const documents = new ClientDocuments({
    clock: fakeClock,
    egress: openEgress,
    trustedHosts: [],
    resolve: () => Promise.resolve((resolved++, ["10.0.0.7"])),
  });
  const find = () =>
    documents.find("https://client.example.com/c.json", never).catch(() => {});

  await find();
  await find();
  assert.equal(resolved, 1);

  fakeClock.advance(31_000);
  await find();
  assert.equal(resolved, 2);
});

Deno.test("ClientDocuments fetches at most 128 documents at a time", async () => {
  const gate = Promise.withResolvers<readonly string[]>();
  const documents = new ClientDocuments({
    clock,
    egress: openEgress,
    trustedHosts: [],
    resolve: () => gate.promise,
  });
  const find = (index: number) =>
    documents.find(`https://client-${index}.example.com/c.json`, never)
      .catch((error: OAuthError) => error.code);
  const first = Array.from({ length: 128 }, (_, index) => find(index));

  const next = await find(129);
  gate.resolve([]);

  assert.equal(next, "temporarily_unavailable");
  assert.deepEqual(await Promise.all(first), Array(128).fill("invalid_client"));
});

Deno.test("documents of trusted hosts are not fetched from addresses that are denied", async () => {
  const documents = new ClientDocuments({
    clock,
    egress: new EgressPolicy({
      settings: { allow: [], deny: ["127.0.0.0/8", "metadata.internal"] },
      lookup: () => Promise.resolve(["127.0.0.1"]),
    }),
    trustedHosts: ["clients.internal", "metadata.internal"],
  });
  for (const host of ["clients.internal", "metadata.internal"]) {
    await assert.rejects(
      documents.find(`https://${host}/client`, new Cancellation()),
      (error) =>
        error instanceof OAuthError && /Denied/.test(error.detail ?? ""),
    );
  }
});

Deno.test("ClientDocuments fetches from other hosts while one does not respond", async () => {
  const hanging = Promise.withResolvers<readonly string[]>();
  const documents = new ClientDocuments({
    clock,
    egress: openEgress,
    trustedHosts: [],
    resolve: (host) =>
      host === "slow.example.com" ? hanging.promise : Promise.resolve([]),
  });
  const find = (host: string, name: number) =>
    documents.find(`https://${host}/${name}.json`, never)
      .then(() => "found", (error) => error.code);
  const waiting = Array.from(
    { length: 8 },
    (_, i) => find("slow.example.com", i),
  );

  const ninth = await find("slow.example.com", 9);
  const other = await find("client.example.com", 0);

  hanging.resolve([]);
  assert.deepEqual([ninth, other], [
    "temporarily_unavailable",
    "invalid_client",
  ]);
  assert.deepEqual(
    new Set(await Promise.all(waiting)),
    new Set(["invalid_client"]),
  );
});
