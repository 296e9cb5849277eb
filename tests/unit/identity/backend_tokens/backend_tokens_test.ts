import assert from "node:assert/strict";
import {
  ConnectionRequiredError,
  GatewayError,
} from "../../../../src/base/errors.ts";
import type {
  Caller,
  TokenCredentials,
} from "../../../../src/identity/backend_tokens/backend_credentials.ts";
import { BackendTokens } from "../../../../src/identity/backend_tokens/backend_tokens.ts";
import { UnreadConnectionError } from "../../../../src/identity/backend_tokens/token_error.ts";
import { loginOf } from "../../../harness/vault/model_replica.ts";
import { FakeClock } from "../../../harness/time/fake_clock.ts";

const own: TokenCredentials = {
  kind: "clientCredentials",
  fingerprint: "own",
  backend: "default/api",
  server: { kind: "issuer", url: "https://idp.example/" },
  clientId: "gateway",
  authentication: { method: "none" },
  parameters: {},
};

const ofCaller: TokenCredentials = {
  ...own,
  kind: "jwtBearer",
  file: undefined,
  fingerprint: "caller",
};

function callerOf(subject: string, issuer = "https://users.example/"): Caller {
  return { issuer, subject, token: `token of ${subject}`, rights: "all" };
}

/** Tokens of a source that numbers them, and fails while `error` is set. */
function startTokens(lifetime: { readonly ms?: number } = { ms: 600_000 }) {
  const clock = new FakeClock();
  const state = { count: 0, error: undefined as Error | undefined };
  const tokens = new BackendTokens({
    clock,
    source: {
      fetch(_credentials, caller) {
        state.count++;
        if (state.error !== undefined) return Promise.reject(state.error);
        const token = `${caller?.subject ?? "own"}-${state.count}`;
        const issuedTokenType = undefined;
        return Promise.resolve({
          token,
          lifetimeMs: lifetime.ms,
          issuedTokenType,
        });
      },
    },
    onRequested: () => {},
  });
  const get = async () => (await tokens.get(own, undefined)).token;
  const getFor = async (caller: Caller) =>
    (await tokens.get(ofCaller, caller)).token;
  return { clock, state, tokens, get, getFor };
}

Deno.test("a token is renewed before it ends, while requests go on with it", async () => {
  const { clock, state, get } = startTokens();
  assert.deepEqual(await Promise.all([get(), get()]), ["own-1", "own-1"]);
  clock.advance(539_000);
  assert.equal(await get(), "own-1");
  assert.equal(state.count, 1);

  clock.advance(1000);
  assert.equal(await get(), "own-1");
  // The renewal goes on in the background.
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  assert.equal(await get(), "own-2");
  assert.equal(state.count, 2);
});

Deno.test("a token at hand is used to its end while its server is away, and never longer", async () => {
  const { clock, state, get } = startTokens();
  await get();
  state.error = new GatewayError("credentials_unavailable", "gateway", "away");
  clock.advance(587_000);
  assert.equal(await get(), "own-1");
  // The background renewal has failed.
  await Promise.resolve();

  clock.advance(1000);
  await assert.rejects(get(), /away/);
});

Deno.test("a token without a lifetime is kept for five minutes", async () => {
  const { clock, get } = startTokens({});
  await get();
  clock.advance(299_000);
  assert.equal(await get(), "own-2");
});

Deno.test("pauses between failed requests double up to half a minute", async () => {
  const { clock, state, get } = startTokens();
  state.error = new Error("away");
  const requested: number[] = [];
  for (let second = 0; second < 64; second++) {
    const before = state.count;
    await assert.rejects(get(), /away/);
    if (state.count > before) requested.push(second);
    clock.advance(1000);
  }
  assert.deepEqual(requested, [0, 1, 3, 7, 15, 31, 61]);

  state.error = undefined;
  clock.advance(30_000);
  assert.equal(await get(), "own-8");
});

Deno.test("a rejected token is replaced once, and not again for half a minute", async () => {
  const { clock, state, tokens } = startTokens();
  const first = await tokens.get(own, undefined);
  const others = await Promise.all(
    [1, 2, 3].map(() => tokens.replace(own, undefined, first.token)),
  );
  assert.deepEqual(others.map((other) => other?.token), [
    "own-2",
    "own-2",
    "own-2",
  ]);

  assert.equal(await tokens.replace(own, undefined, "own-2"), undefined);
  assert.equal(state.count, 2);
  clock.advance(30_000);
  const later = await tokens.replace(own, undefined, "own-2");
  assert.equal(later?.token, "own-3");
});

Deno.test("no two users share a token, and many users do not fill the memory", async () => {
  const { state, tokens, getFor } = startTokens();
  const anna = callerOf("anna");
  assert.equal(await getFor(anna), "anna-1");
  for (
    const other of [
      callerOf("anna", "https://users.example"),
      callerOf('anna","all'),
      { ...anna, rights: "fewer" },
      callerOf("ANNA"),
    ]
  ) {
    const before = state.count;
    await getFor(other);
    assert.equal(state.count, before + 1);
  }
  assert.equal(await getFor(anna), "anna-1");

  for (let user = 0; user < 9000; user++) {
    await getFor(callerOf(`user${user}`));
  }
  assert.equal(tokens.size, 8192);
});

Deno.test("the tokens that were used least recently make room for others", async () => {
  const { clock, state, getFor } = startTokens();
  const [anna, ben] = [callerOf("anna"), callerOf("ben")];
  await getFor(anna);
  await getFor(ben);
  clock.advance(1000);
  await getFor(anna);
  for (let user = 0; user < 8191; user++) {
    await getFor(callerOf(`user${user}`));
  }
  const before = state.count;

  await getFor(anna);
  assert.equal(state.count, before);
  await getFor(ben);
  assert.equal(state.count, before + 1);
});

Deno.test("a token at hand takes no promise, and callers of the same name keep their own", async () => {
  const { tokens, getFor } = startTokens();
  const anna = callerOf("anna");
  await getFor(anna);
  await getFor({ ...anna, rights: "fewer" });

  const found = [
    tokens.get(ofCaller, anna),
    tokens.get(ofCaller, { ...anna, rights: "fewer" }),
    // Another token of the same user.
    tokens.get(ofCaller, { ...anna }),
  ];

  assert.deepEqual(
    found.map((each) => each instanceof Promise ? "promise" : each.token),
    ["anna-1", "anna-2", "anna-1"],
  );
});

Deno.test("the token of a login is looked up again within a second, and used for half a minute while nobody can tell whether it still is valid", async () => {
  const clock = new FakeClock();
  const state = { error: undefined as Error | undefined, lookUps: 0 };
  const tokens = new BackendTokens({
    clock,
    source: { fetch: () => Promise.reject(new Error("not used")) },
    connections: {
      obtain() {
        state.lookUps++;
        return state.error === undefined
          ? Promise.resolve({ token: "anna-1", lifetimeMs: 600_000 })
          : Promise.reject(state.error);
      },
      rejected: () => Promise.reject(new Error("not used")),
    },
    onRequested: () => {},
  });
  const get = async () =>
    (await tokens.get(loginOf("default/crm"), callerOf("anna"))).token;
  assert.equal(await get(), "anna-1");
  clock.advance(400);
  assert.equal(await get(), "anna-1");
  assert.equal(state.lookUps, 1);

  const login = loginOf("default/crm");
  state.error = new UnreadConnectionError(login, new Error("away"));
  for (let second = 1; second < 30; second++) {
    clock.advance(1000);
    assert.equal(await get(), "anna-1");
  }
  clock.advance(1000);
  await assert.rejects(get(), /cannot be read/);
  clock.advance(60_000);
  await assert.rejects(get(), /cannot be read/);
  // The store is back: users wait a second, however long it was away.
  state.error = undefined;
  clock.advance(1000);
  assert.equal(await get(), "anna-1");

  // The connection was read, and has another token, which the server does not renew now.
  state.error = new GatewayError("credentials_unavailable", "gateway", "away");
  clock.advance(1000);
  await assert.rejects(get(), /away/);

  state.error = new ConnectionRequiredError("default/crm", {
    title: "CRM",
    url: "https://gateway.example/",
    needsMore: false,
  });
  clock.advance(1000);
  await assert.rejects(get(), ConnectionRequiredError);
});
