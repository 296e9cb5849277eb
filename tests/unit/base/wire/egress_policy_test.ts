import assert from "node:assert/strict";
import {
  EgressPolicy,
  openEgress,
} from "../../../../src/base/wire/egress_policy.ts";
import {
  isEgressEntry,
  type ReservedAddress,
} from "../../../../src/base/wire/egress_rules.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import { RecordedLog } from "../../../harness/telemetry/recorded_log.ts";

function policyOf(
  settings: { readonly allow?: string[]; readonly deny?: string[] },
  reserved?: readonly ReservedAddress[],
): EgressPolicy {
  const policy = new EgressPolicy({
    settings: { allow: [], deny: [], ...settings },
    // Names are addresses here: each resolves to what comes before its first dot.
    lookup: (host) => Promise.resolve([host.replaceAll("_", ".")]),
  });
  policy.reserve(reserved);
  return policy;
}

/** Reports whether a host is denied when it is configured. */
function denies(policy: EgressPolicy, host: string): boolean {
  return policy.denialOf({ host, port: 80 }) !== undefined;
}

/** Reports whether an address is denied when a connection goes there. */
async function deniesAddress(policy: EgressPolicy, host: string) {
  try {
    await policy.addressesOf({ host, port: 80 });
    return false;
  } catch {
    return true;
  }
}

for (
  const address of [
    "169.254.169.254",
    "169.254.170.2",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "fd20:ce::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "::",
    "0.0.0.0",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
    // The same addresses in other spellings.
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:0:1:2:3:4:5601:5601",
    "fd12::5efe:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::10.96.0.1",
    // Reserved.
    "10.96.0.1",
    "10.1.2.3",
    "10.9.9.9",
  ]
) {
  Deno.test(`authors of a cluster cannot have a backend at ${address}`, async () => {
    const policy = policyOf({}, [
      { address: "10.96.0.1", of: "apiServer" },
      { address: "10.1.2.3", of: "gateway" },
      { address: "10.9.9.9", of: "node" },
    ]);
    assert(denies(policy, address));
    assert(await deniesAddress(policy, address));
  });
}

Deno.test("authors of a cluster can have backends elsewhere", async () => {
  const policy = policyOf({}, [{ address: "10.96.0.1", of: "apiServer" }]);
  for (
    const address of [
      "10.96.0.2",
      "192.168.1.1",
      "93.184.216.34",
      "2606:2800:220:1::1",
      "fd00:1::1",
      "64:ff9b::10.96.0.2",
    ]
  ) {
    assert(!denies(policy, address), address);
    assert(!await deniesAddress(policy, address), address);
  }
});

Deno.test("names of metadata services and of the API server are denied in a cluster", () => {
  const policy = policyOf({}, []);
  for (
    const name of [
      "metadata.google.internal",
      "METADATA.Google.Internal.",
      "localhost",
      "a.localhost",
      "kubernetes.default.svc",
    ]
  ) assert(denies(policy, name), name);
  for (const name of ["api.openai.com", "kubernetes.team.svc"]) {
    assert(!denies(policy, name), name);
  }
});

Deno.test("nothing is denied without a cluster and without entries", () => {
  assert(!openEgress.isLimited);
  assert(!denies(openEgress, "169.254.169.254"));
});

Deno.test("of entries that match an address, the most specific decides, and of equal ones that which denies", async () => {
  const policy = policyOf({
    deny: ["10.0.0.0/8", "10.1.1.1", "10.2.0.0/16"],
    allow: ["10.1.0.0/16", "10.2.0.0/16"],
  });
  const results = await Promise.all(
    ["10.3.0.1", "10.1.0.1", "10.1.1.1", "10.2.0.1", "11.0.0.1"].map((each) =>
      deniesAddress(policy, each)
    ),
  );
  assert.deepEqual(results, [true, false, true, true, false]);
});

Deno.test("a denied range covers addresses that are mapped into IPv6", async () => {
  const policy = policyOf({ deny: ["10.0.0.0/8", "::ffff:172.16.0.0/108"] });
  assert(await deniesAddress(policy, "::ffff:10.0.0.1"));
  assert(await deniesAddress(policy, "172.31.0.1"));
  assert(!await deniesAddress(policy, "172.32.0.1"));
});

Deno.test("an exception opens what a cluster denies, and a reserved address only by itself", async () => {
  const reserved = [
    { address: "10.96.0.1", of: "apiServer" },
    { address: "10.9.9.9", of: "node" },
  ] as const;
  const range = policyOf({ allow: ["10.0.0.0/8"] }, reserved);
  assert(await deniesAddress(range, "10.96.0.1"));
  assert(!await deniesAddress(range, "10.9.9.9"));
  const exact = policyOf(
    {
      allow: [
        "169.254.169.254",
        "169.254.20.0/24",
        "100.100.100.200",
        "10.96.0.1",
        "metadata.google.internal",
      ],
    },
    reserved,
  );
  assert(!await deniesAddress(exact, "10.96.0.1"));
  assert(!await deniesAddress(exact, "100.100.100.200"));
  assert(!denies(exact, "metadata.google.internal"));
  assert(!await deniesAddress(exact, "169.254.169.254"));
  assert(!await deniesAddress(exact, "169.254.20.10"));
  assert(await deniesAddress(exact, "169.254.169.253"));
  assert(await deniesAddress(exact, "10.9.9.9"));
});

Deno.test("with * denied, only the hosts that are listed are allowed", async () => {
  const policy = policyOf({
    deny: ["*", "evil.example.com"],
    allow: ["*.example.com", "10.0.0.0/8"],
  });
  const hosts = [
    "api.example.com",
    "evil.example.com",
    "example.com",
    "10.0.0.1",
    "11.0.0.1",
  ];
  assert.deepEqual(
    hosts.map((host) => denies(policy, host)),
    [false, true, true, false, true],
  );
  // Names that are allowed may have any address that is not denied.
  assert(!await deniesAddress(policy, "11.0.0.1"));
});

Deno.test("a name is denied by its addresses, all of which are checked", async () => {
  const egress = new EgressPolicy({
    settings: { allow: [], deny: ["10.0.0.0/8"] },
    lookup: () => Promise.resolve(["10.0.0.1", "192.0.2.1", "10.0.0.2"]),
  });
  const target = { host: "mixed.example", port: 80 };
  assert.deepEqual(await egress.addressesOf(target), ["192.0.2.1"]);
});

Deno.test("denied connections are logged once a minute each, and no more than a hundred", async () => {
  const clock = new FakeClock();
  const log = new RecordedLog();
  const policy = new EgressPolicy({
    settings: { allow: [], deny: ["10.0.0.0/8"] },
    log,
    clock,
  });
  const connect = (address: string) => deniesAddress(policy, address);
  for (let index = 0; index < 3; index++) await connect("10.0.0.1");
  assert.equal(log.lines.length, 1);
  for (let index = 0; index < 200; index++) await connect(`10.0.1.${index}`);
  assert.equal(log.lines.length, 100);
  clock.advance(60_000);
  await connect("10.0.0.1");
  assert.equal(log.lines.length, 101);
});

Deno.test("entries are addresses, ranges, names, and names that begin with *", () => {
  for (
    const entry of [
      "10.0.0.1",
      "10.0.0.0/8",
      "fd00::/8",
      "example.com",
      "*.example.com",
      "*",
      "my_host",
    ]
  ) assert(isEgressEntry(entry), entry);
  for (
    const entry of [
      "",
      "10.0.0.0/33",
      "10.0.0.0/",
      "10.0.0",
      "a b",
      "a:80",
      "*example.com",
      "a.*.com",
      "https://a",
      "*.",
    ]
  ) assert(!isEgressEntry(entry), entry);
});
