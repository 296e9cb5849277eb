import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeClock } from "../../../harness/time/fake_clock.ts";
import {
  audience,
  callMcp,
  guardedRoute,
  startGuardedServer,
} from "../../../harness/servers/guarded_server.ts";
import { IdentityServer } from "../../../harness/login/identity_server.ts";
import {
  type Documents,
  type ReloadableGateway,
  startReloadableGateway,
} from "../../../harness/gateway/reloadable_gateway.ts";
import {
  createTokenIssuer,
  type TokenIssuer,
} from "../../../harness/login/tokens.ts";
import { fc } from "../../../harness/parsers/properties.ts";

const issuer = "https://idp.example/";
const always = { exp: Date.UTC(2100, 0) / 1000 };
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const published = await Promise.all(
  ["k1", "k2", "k3"].map((kid) => createTokenIssuer({ issuer, kid })),
);
// With the key id and the issuer of the first: nothing but the key itself tells them apart.
const otherIssuer = await createTokenIssuer({ issuer, kid: "k1" });
const goodTokens = new Map(
  await Promise.all(
    published.map(async (each) => [each, await each.sign(always)] as const),
  ),
);
const badTokens: readonly (string | undefined)[] = [
  undefined,
  "",
  "opaque",
  await otherIssuer.sign(always),
  await otherIssuer.sign(always, { kid: "k2" }),
  await otherIssuer.sign(always, { kid: undefined }),
  await otherIssuer.sign(always, { jwk: otherIssuer.jwk }),
  unsigned({ iss: issuer, aud: audience, ...always }),
  ...await Promise.all(published.flatMap((each) => [
    each.sign({ exp: Date.UTC(2025, 0) / 1000 }),
    each.sign({ ...always, aud: "https://other.example/mcp" }),
    each.sign({ ...always, iss: "https://other.example/" }),
  ])),
];

const events = [
  "provider up",
  "provider down",
  "provider failing",
  "provider garbled",
  "provider empty",
  "keys rotated",
  "configuration reloaded",
  "other key address",
  "key address without an answer",
  "broken configuration",
  "key backend that is missing",
  "restart",
  "second passed",
  "minute passed",
  "hour passed",
  "day passed",
] as const;

type Event = typeof events[number];

Deno.test("without a valid token no request ever passes, whatever happens to provider, keys, configuration and gateway", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        isUp: fc.boolean(),
        hasStore: fc.boolean(),
        history: fc.array(fc.constantFrom(...events), {
          minLength: 1,
          maxLength: 16,
        }),
      }),
      liveThrough,
    ),
    { numRuns: 50 },
  );
});

interface Life {
  readonly isUp: boolean;
  /** True if keys survive a restart. */
  readonly hasStore: boolean;
  readonly history: readonly Event[];
}

async function liveThrough({ isUp, hasStore, history }: Life): Promise<void> {
  const folder = await Deno.makeTempDir();
  const clock = new FakeClock();
  using _creeping = creep(clock);
  await using server = startGuardedServer();
  await using idp = await IdentityServer.start({
    condition: isUp ? "up" : "down",
  });
  idp.keys = published.slice(0, 1);
  const configure = (jwks: unknown): Documents => [
    guardedRoute(server, {
      issuer,
      jwks,
      mcp: { provider: "IdpA", forwardToken: true },
      more: hasStore ? { config: { kv: { path: join(folder, "kv") } } } : {},
    }),
  ];
  const good = configure({ url: `${idp.origin}/jwks.json` });
  await using gateway = await startReloadableGateway(good, { clock });

  async function happen(event: Event): Promise<void> {
    const [subject, ...rest] = event.split(" ");
    if (subject === "provider") {
      return idp.become(rest[0] as Parameters<typeof idp.become>[0]);
    }
    switch (event) {
      case "keys rotated": {
        const next = published.indexOf(currentKey(idp)) + 1;
        idp.keys = published.slice(next % published.length).slice(0, 1);
        return;
      }
      case "configuration reloaded":
        return void await gateway.reload(good);
      case "other key address":
        return void await gateway.reload(
          configure({ url: `${idp.origin}/other/jwks.json` }),
        );
      case "key address without an answer":
        return void await gateway.reload(
          configure({ url: `${idp.origin}/nothing` }),
        );
      case "broken configuration":
        return void await gateway.reload([{ routes: "none" }]);
      case "key backend that is missing":
        return void await gateway.reload(
          configure({
            remote: { backendRef: { name: "nope" }, jwksPath: "/jwks.json" },
          }),
        );
      case "restart":
        return await gateway.restart();
      case "second passed":
        return clock.advance(second);
      case "minute passed":
        return clock.advance(minute);
      case "hour passed":
        return clock.advance(hour);
      case "day passed":
        return clock.advance(25 * hour);
    }
  }

  for (const event of history) {
    // Before, while and after it happens.
    const statuses = await Promise.all([
      ...callWithBadTokens(gateway),
      happen(event),
      ...callWithBadTokens(gateway),
    ]);
    statuses.push(...await Promise.all(callWithBadTokens(gateway)));
    assert(!statuses.includes(200), `${statuses}`);
    await Promise.all([...goodTokens.values()].map(
      (token) => statusOf(gateway, token),
    ));
  }
  const goodCredentials = [...goodTokens.values()].map((token) =>
    `Bearer ${token}`
  );
  assert.deepEqual(
    server.reached.filter((each) => !goodCredentials.includes(each ?? "")),
    [],
  );

  await idp.become("up");
  await gateway.reload(good);
  assert(await opens(gateway, clock, goodTokens.get(currentKey(idp))));
  await Deno.remove(folder, { recursive: true });
}

/** Lets time pass slowly: the pause after which a store tries a locked file again must end. */
function creep(clock: FakeClock): Disposable {
  const timer = setInterval(() => clock.advance(1), 5);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function currentKey({ keys: [current] }: IdentityServer): TokenIssuer {
  assert(current);
  return current;
}

/** Returns whether a client that retries as advised is admitted. Moving the clock cuts fetches, so this may take a few attempts. */
async function opens(
  gateway: ReloadableGateway,
  clock: FakeClock,
  token: string | undefined,
): Promise<boolean> {
  for (let tries = 0; tries < 4; tries++) {
    const { status, retryAfter = 60 } = await callMcp(gateway, token);
    if (status === 200) return true;
    clock.advance(Number(retryAfter) * second);
  }
  return false;
}

function callWithBadTokens(gateway: ReloadableGateway): Promise<number>[] {
  return badTokens.map((token) => statusOf(gateway, token));
}

/** 0 when nobody answers, as during a restart. */
async function statusOf(
  gateway: ReloadableGateway,
  token: string | undefined,
): Promise<number> {
  try {
    return (await callMcp(gateway, token)).status;
  } catch {
    return 0;
  }
}

function unsigned(claims: unknown): string {
  const encode = (value: unknown) =>
    new TextEncoder().encode(JSON.stringify(value)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    });
  return `${encode({ alg: "none", kid: "k1" })}.${encode(claims)}.`;
}
