import assert from "node:assert/strict";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";
import { RedisServer } from "../../../harness/servers/redis_server.ts";
import { translationTargets } from "../../../harness/llm/translation_targets.ts";
import {
  createTokenIssuer,
  jwksOf,
  type TokenIssuer,
} from "../../../harness/login/tokens.ts";

const anthropic = translationTargets.find(({ provider }) =>
  provider === "Anthropic"
);

/** Opens a gateway with two users; the provider names its messages one after the other. */
async function open(config: Readonly<Record<string, unknown>> = {}) {
  let answers = 0;
  await using opening = new AsyncDisposableStack();
  const provider = opening.use(startProvider(({ body }) => {
    if (JSON.parse(body).stream === true) {
      return anthropic?.textStream() ?? assert.fail();
    }
    const text = JSON.stringify(anthropic?.text);
    return new Response(text.replaceAll("msg_1", `msg_${++answers}`), {
      headers: { "content-type": "application/json" },
    });
  }));
  const start = () =>
    startTestGateway({
      config,
      routes: [{
        name: "llm",
        policies: {
          apiKeyAuthentication: {
            keys: ["anna", "ben"].map((id) => ({ key: `key-of-${id}` })),
          },
        },
        backends: [{
          llm: { provider: "Anthropic", host: provider.host, plainText: true },
        }],
      }],
    });
  const gateways = [opening.use(await start()), opening.use(await start())];
  const open = opening.move();
  return {
    provider,
    /** Sends to one of two replicas, on a connection of its own: any worker gets it. */
    async ask(
      body: Readonly<Record<string, unknown>>,
      { user = "anna", replica = 0 } = {},
    ) {
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      const response = await fetch(
        `${gateways[replica]?.origin}/v1/responses`,
        {
          client,
          method: "POST",
          headers: { authorization: `Bearer key-of-${user}` },
          body: JSON.stringify({ model: "m", ...body }),
        },
      );
      const text = await response.text();
      return { status: response.status, text };
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Has a conversation of several turns by references alone; the provider gets all of it. */
async function converse({ ask, provider }: Opened, replicas: number) {
  let previous: string | undefined;
  for (let turn = 0; turn < 6; turn++) {
    const { status, text } = await ask({
      input: `Question ${turn}`,
      ...(previous !== undefined && { previous_response_id: previous }),
    }, { replica: turn % replicas });
    assert.equal(status, 200, text);
    previous = JSON.parse(text).id;
  }
  const { messages } = JSON.parse(provider.requests.at(-1)?.body ?? "");
  assert.deepEqual(
    messages.map(({ content: [part] }: { content: { text: string }[] }) =>
      part?.text
    ),
    Array.from(
      { length: 11 },
      (_, index) => index % 2 === 0 ? `Question ${index / 2}` : "Hello there",
    ),
  );
}

Deno.test("a conversation goes on by previous_response_id at any worker", async () => {
  await using opened = await open({ workers: 2 });

  await converse(opened, 1);
});

Deno.test("a conversation goes on at another replica that shares the store", async () => {
  await using redis = await RedisServer.start();
  await using opened = await open({ kv: { redis: redis.url } });

  await converse(opened, 2);
});

Deno.test("nobody goes on after the response of another user, nor after one that is not stored", async () => {
  await using opened = await open();
  const stored = await opened.ask({ input: "Hi" });
  const unstored = await opened.ask({ input: "Hi", store: false });
  const streamed = await opened.ask({ input: "Hi", stream: true });
  const idOf = ({ text }: { text: string }) =>
    /"id":"(resp_[^"]+)"/.exec(text)?.[1];
  const after = (previous: string | undefined, user: string) =>
    opened.ask({ input: "And?", previous_response_id: previous }, { user });

  const ofBen = await after(idOf(stored), "ben");
  assert.equal(ofBen.status, 400);
  assert.match(ofBen.text, /previous_response_id.*does not have/);
  assert.equal((await after(idOf(unstored), "anna")).status, 400);
  assert.equal((await after(idOf(stored), "anna")).status, 200);
  assert.equal((await after(idOf(streamed), "anna")).status, 200);
});

Deno.test("a user of one issuer does not go on after the response of a user of another with the same name", async () => {
  await using provider = startProvider(() => Response.json(anthropic?.text));
  const issuers = await Promise.all(
    ["a", "b"].map((name) =>
      createTokenIssuer({ issuer: `https://${name}.example/`, kid: name })
    ),
  );
  await using gateway = await startTestGateway({
    routes: issuers.map((issuer) => ({
      name: `of-${issuer.jwk.kid}`,
      matches: [{ path: { type: "PathPrefix", value: `/${issuer.jwk.kid}` } }],
      policies: {
        jwtAuthentication: {
          providers: [{
            issuer: issuer.issuer,
            audiences: ["https://gw.example/mcp"],
            jwks: { inline: jwksOf(issuer) },
          }],
        },
      },
      backends: [{
        llm: { provider: "Anthropic", host: provider.host, plainText: true },
      }],
    })),
  });
  const ask = async (issuer: TokenIssuer, previous?: string) => {
    const response = await fetch(
      `${gateway.origin}/${issuer.jwk.kid}/v1/responses`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${await issuer.sign()}` },
        body: JSON.stringify({
          ...{ model: "m", input: "Hi", previous_response_id: previous },
        }),
      },
    );
    return { status: response.status, body: await response.json() };
  };
  const [one, other] = issuers;
  assert.ok(one && other);
  const { status, body: { id } } = await ask(one);

  assert.equal(status, 200);
  assert.equal((await ask(one, id)).status, 200);
  assert.equal((await ask(other, id)).status, 400);
});
