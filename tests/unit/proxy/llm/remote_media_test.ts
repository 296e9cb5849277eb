import assert from "node:assert/strict";
import { Cancellation } from "../../../../src/base/cancellation.ts";
import { systemClock } from "../../../../src/base/clock.ts";
import {
  EgressPolicy,
  openEgress,
} from "../../../../src/base/wire/egress_policy.ts";
import {
  BodyMemory,
  createBodyMemory,
  HeldBytes,
} from "../../../../src/http/body_memory.ts";
import {
  RemoteMedia,
  type RemoteMediaOptions,
} from "../../../../src/proxy/llm/remote_media.ts";
import { png, startMediaServer } from "../../../harness/llm/media_server.ts";

const options: RemoteMediaOptions = {
  clock: systemClock,
  egress: openEgress,
  isEnabled: true,
  maxBytes: 1 << 20,
  maxTotalBytes: 1 << 20,
  timeoutMs: 5000,
  trustedHosts: [],
};

function request(held?: HeldBytes) {
  const told: unknown[] = [];
  return {
    cancellation: new Cancellation(),
    held,
    trace: { report: (event: unknown) => told.push(event) },
    told,
  };
}

for (
  const addresses of [
    ["10.0.0.7"],
    ["93.184.216.34", "127.0.0.1"],
    ["::ffff:127.0.0.1"],
    ["64:ff9b::7f00:1"],
    ["fd00::1"],
    [],
  ]
) {
  Deno.test(`no media are fetched from a host at ${addresses.join(" and ") || "no address"}`, async () => {
    const media = new RemoteMedia({
      ...options,
      resolve: () => Promise.resolve(addresses),
    });
    await assert.rejects(
      media.fetch(["https://cdn.example/a.png"], request()),
      /Cannot fetch https:\/\/cdn\.example\/a\.png: .*not on the public internet/,
    );
  });
}

Deno.test("a name that resolves to another address at each look-up is looked up once, and connected to at that address", async () => {
  let lookups = 0;
  const media = new RemoteMedia({
    ...options,
    timeoutMs: 200,
    resolve: () =>
      Promise.resolve(lookups++ === 0 ? ["192.0.2.1"] : ["127.0.0.1"]),
  });
  await assert.rejects(media.fetch(["https://cdn.example/a.png"], request()));
  assert.equal(lookups, 1);
});

Deno.test("hosts that config.egress denies are not asked, also when they are trusted", async () => {
  await using server = await startMediaServer(() => new Response(png));
  const media = new RemoteMedia({
    ...options,
    egress: new EgressPolicy({
      settings: { deny: ["127.0.0.0/8", "::1"], allow: [] },
    }),
    trustedHosts: [server.host],
  });
  await assert.rejects(media.fetch([`${server.origin}/a.png`], request()));
  assert.deepEqual(server.paths, []);
});

Deno.test("a client that leaves ends its fetches", async () => {
  const media = new RemoteMedia({
    ...options,
    resolve: () => new Promise(() => {}),
  });
  const leaving = request();
  const fetched = media.fetch(["https://cdn.example/a.png"], leaving);
  leaving.cancellation.cancel(new Error("client left"));
  await assert.rejects(fetched, /client left/);
});

Deno.test("of one host, up to 64 fetches are under way", async () => {
  const media = new RemoteMedia({
    ...options,
    resolve: () => new Promise(() => {}),
  });
  const started = Array.from({ length: 64 }, (_, index) => {
    const each = request();
    const fetched = media.fetch([`https://cdn.example/${index}`], each);
    return { each, fetched };
  });
  await assert.rejects(
    media.fetch(["https://cdn.example/65"], request()),
    { code: "body_memory_full" },
  );
  for (const { each, fetched } of started) {
    each.cancellation.cancel(new Error("left"));
    await assert.rejects(fetched, /left/);
  }
});

Deno.test("fetched media count in the memory of the request", async () => {
  const memory = new BodyMemory(createBodyMemory(1, 1 << 20));
  const held = new HeldBytes(memory);
  held.take(1000);
  const media = new RemoteMedia({
    ...options,
    maxTotalBytes: 10,
    resolve: () => Promise.resolve(["127.0.0.1"]),
  });
  await assert.rejects(
    media.fetch(["https://cdn.example/a.png"], request(held)),
  );
  held.release();
  assert.equal(memory.fill.used, 0);
});
