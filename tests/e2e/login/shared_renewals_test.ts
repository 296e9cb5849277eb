/** Refresh tokens of issuer mode `Proxied` at a provider that accepts each of its own once, and ends the grant of one that comes again. */
import assert from "node:assert/strict";
// @ts-types="../../../cli/dev/idp/oidc_provider.d.ts"
import type { Context } from "oidc-provider";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import {
  type LoginSteps,
  loginSteps,
} from "../../harness/gateway/proxied_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { RedisServer } from "../../harness/servers/redis_server.ts";

const CONNECTIONS = 20;

/** Gateways of several workers, and the renewals of their provider. */
interface Site extends AsyncDisposable {
  readonly gateways: readonly GatewayProcess[];
  /** The first gateway. */
  readonly first: LoginSteps;
  /** The last gateway. */
  readonly last: LoginSteps;
  /** Logs in. */
  readonly client: string;
  readonly token: unknown;
  readonly renewals: Renewals;
  /** Contents of the files of the store. */
  storeText(): Promise<string>;
}

/** Refresh requests that reached the provider. */
class Renewals {
  count = 0;
  /** Tokens in the responses. */
  readonly tokens: string[] = [];
  #held: PromiseWithResolvers<void> | undefined;
  #arrived = Promise.withResolvers<void>();

  /** Holds the next request until `release`; it resolves when one is there. */
  hold(): Promise<void> {
    this.#held = Promise.withResolvers();
    this.#arrived = Promise.withResolvers();
    return this.#arrived.promise;
  }

  release(): void {
    this.#held?.resolve();
  }

  /** Drops the request that is held: the provider never sees it. */
  drop(): void {
    this.#held?.reject(new Error("dropped"));
  }

  /** Middleware of the provider. */
  readonly handle = async (context: Context, next: () => Promise<void>) => {
    const isToken = context.path === "/oauth/token";
    if (isToken && this.#held !== undefined) {
      const { promise } = this.#held;
      this.#arrived.resolve();
      const isDropped = await promise.then(() => false, () => true);
      this.#held = undefined;
      if (isDropped) {
        context.status = 503;
        return;
      }
    }
    await next();
    const { params } = context.oidc ?? {};
    if (!isToken || params?.["grant_type"] !== "refresh_token") return;
    this.count++;
    for (const value of Object.values(Object(context.body))) {
      if (String(value).length > 30) this.tokens.push(String(value));
    }
  };
}

interface SiteOptions {
  /** 2 by default. */
  readonly gateways?: number;
  /** `config.kv`; a file by default. */
  readonly store?: "file" | "redis" | "none";
}

async function startSite(
  { gateways: count = 2, store = "file" }: SiteOptions = {},
): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  opening.defer(() => Deno.remove(folder, { recursive: true }));
  const redis = store === "redis"
    ? opening.use(await RedisServer.start())
    : undefined;
  const file = store === "file" ? { path: `${folder}/kv.sqlite` } : undefined;
  const kv = redis === undefined ? file : { redis: redis.url };
  const ports = Array.from({ length: count }, freePort);
  const [port = 0] = ports;
  const url = `http://127.0.0.1:${port}/mcp`;
  const first = loginSteps(url);
  const renewals = new Renewals();
  const idp = opening.use(
    await startIdpA({
      registration: false,
      redirectUris: [`${first.base}/callback`],
      prepare: (provider) => provider.use(renewals.handle),
    }),
  );
  const server = opening.adopt(startMcpServer(), (server) => server.close());
  const config = protectedConfig(idp, {
    provider: "IdpA",
    url,
    upstream: server.origin,
    mcp: {
      issuerMode: "Proxied",
      clientId: idp.clientId,
      scopes: ["offline_access", "openid"],
      resourceMetadata: { resource: url },
    },
    config: {
      workers: 2,
      ...(kv !== undefined && { kv }),
    },
  });
  const gateways: GatewayProcess[] = [];
  for (const port of ports) {
    gateways.push(opening.use(await GatewayProcess.start({ config, port })));
  }
  const client = await first.registerClient();
  const { body } = await first.redeem(client, await first.code(client));
  const open = opening.move();
  return {
    gateways,
    first,
    last: loginSteps(`http://127.0.0.1:${ports.at(-1)}/mcp`),
    client,
    token: body.refresh_token,
    renewals,
    async storeText() {
      if (redis !== undefined) return await redis.content();
      const texts: string[] = [];
      for await (const { name } of Deno.readDir(folder)) {
        const bytes = await Deno.readFile(`${folder}/${name}`);
        texts.push(new TextDecoder("latin1").decode(bytes));
      }
      return texts.join("");
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const sites: readonly (SiteOptions & {
  readonly name: string;
  readonly rounds: number;
})[] = [
  { name: "two gateways on one file", rounds: 50 },
  { name: "two gateways on Redis", rounds: 50, store: "redis" },
  { name: "the workers of one", rounds: 10, gateways: 1, store: "none" },
];

for (const { name, rounds, ...options } of sites) {
  Deno.test(`connections that refresh at once at ${name} share one renewal, and none is rejected`, async () => {
    await using site = await startSite(options);
    const { first, last, client, renewals } = site;
    // A client address may have 16 requests in progress at a gateway.
    const connections = first.base === last.base ? 12 : CONNECTIONS;
    let { token } = site;

    for (let round = 1; round <= rounds; round++) {
      const all = await Promise.all(
        Array.from(
          { length: connections },
          (_, at) => (at % 2 === 0 ? first : last).refresh(client, token),
        ),
      );

      const failed = all.filter(({ status }) => status !== 200);
      assert.deepEqual(failed.map(({ body }) => body), []);
      assert.equal(renewals.count, round);
      token = all[round % connections]?.body.refresh_token;
    }

    const text = await site.storeText();
    assert(renewals.tokens.length >= 2 * rounds);
    for (const token of renewals.tokens) assert(!text.includes(token));
  });
}

Deno.test("when the client that began a shared renewal leaves, the others get their tokens", async () => {
  await using site = await startSite();
  const { first, last, client, token, renewals } = site;
  const arrived = renewals.hold();
  const leaving = new AbortController();
  const left = fetch(`${first.base}/token`, {
    method: "POST",
    signal: leaving.signal,
    body: new URLSearchParams({
      grant_type: "refresh_token",
      client_id: client,
      refresh_token: String(token),
    }),
  });
  await arrived;
  const others = [first, last, first, last].map((steps) =>
    steps.refresh(client, token)
  );
  leaving.abort();
  await assert.rejects(left);
  renewals.release();

  const all = await Promise.all(others);

  assert.deepEqual(all.map(({ status }) => status), [200, 200, 200, 200]);
  assert.equal(renewals.count, 1);
});

Deno.test("when the gateway that renews is killed, another one takes over, once", async () => {
  await using site = await startSite();
  const { gateways: [gateway], first, last, client, token, renewals } = site;
  const arrived = renewals.hold();
  const killed = first.refresh(client, token);
  await arrived;
  const others = Array.from(
    { length: 8 },
    () => last.refresh(client, token),
  );
  gateway?.signal("SIGKILL");
  await assert.rejects(killed);
  renewals.drop();

  const all = await Promise.all(others);

  assert.deepEqual(all.map(({ status }) => status), others.map(() => 200));
  assert.equal(renewals.count, 1);
});

Deno.test("a client whose response was lost with its gateway gets the same tokens at another one", async () => {
  await using site = await startSite();
  const { gateways: [gateway], first, last, client, token, renewals } = site;
  const lost = await first.refresh(client, token);
  gateway?.signal("SIGKILL");
  await gateway?.exitCode();

  const repeated = await last.refresh(client, token);
  const next = await last.refresh(client, repeated.body.refresh_token);

  assert.deepEqual(
    [lost, repeated, next].map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(renewals.count, 2);
});
