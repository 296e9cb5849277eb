import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  type ProviderServer,
  startProvider,
} from "../../harness/llm/provider_server.ts";

function modelServer(...models: readonly string[]): ProviderServer {
  return startProvider(({ method }) =>
    Response.json(
      method === "GET"
        ? { object: "list", data: models.map((id) => ({ id })) }
        : { model: models[0] },
    )
  );
}

function backend({ host }: ProviderServer, settings = {}) {
  return {
    llm: { provider: "OpenAI", host, plainText: true, ...settings },
  };
}

async function openRouted() {
  await using opening = new AsyncDisposableStack();
  const gpt = opening.use(modelServer("gpt-4o", "gpt-4o-mini", "o3"));
  const claude = opening.use(modelServer("claude-sonnet-4", "other"));
  const rest = opening.use(modelServer("llama3"));
  const gateway = opening.use(
    await startTestGateway({
      routes: [
        {
          name: "gpt",
          matches: [{ model: "gpt-4*" }, { model: "o3" }],
          backends: [
            backend(gpt, { aliases: { "gpt-4-fast": "gpt-4o-mini" } }),
          ],
        },
        {
          name: "claude",
          matches: [{
            path: { type: "PathPrefix", value: "/v1" },
            model: "claude-*",
          }],
          backends: [backend(claude)],
        },
        {
          name: "rest",
          matches: [{ headers: [{ name: "x-rest", value: "1" }] }],
          backends: [backend(rest)],
        },
      ],
    }),
  );
  const open = opening.move();
  return {
    ...{ gpt, claude, rest, origin: gateway.origin },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function chat(origin: string, body: unknown, headers = {}): Promise<Response> {
  return fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

for (
  const [model, server] of [
    ["gpt-4o", "gpt"],
    ["gpt-4-fast", "gpt"],
    ["o3", "gpt"],
    ["claude-sonnet-4", "claude"],
  ] as const
) {
  Deno.test(`a request for ${model} goes to the route of that model`, async () => {
    await using routed = await openRouted();

    const response = await chat(routed.origin, { messages: [], model });
    await response.body?.cancel();

    assert.equal(response.status, 200);
    assert.equal(routed[server].requests.length, 1);
  });
}

for (
  const [what, body, headers] of [
    ["another model", { model: "o3-mini" }, {}],
    ["no model", { messages: [] }, {}],
    ["a model that servers read differently", '{"model":"o3","model":"x"}', {}],
    ["a body that is no JSON", '{"model":"o3"', {}],
    [
      "the header of the gateway itself",
      { messages: [] },
      { "x-gateway-model": "o3" },
    ],
  ] as const
) {
  Deno.test(`a request with ${what} matches no route of a model`, async () => {
    await using routed = await openRouted();

    const response = await chat(routed.origin, body, headers);
    await response.body?.cancel();

    assert.equal(response.status, 404);
    assert.equal(response.headers.get("x-gateway-error"), "route_not_found");
  });
}

Deno.test("a route without a model takes requests whose body cannot be read, unchanged", async () => {
  await using routed = await openRouted();
  const body = '{"model":"o3","model":"x"}';

  const response = await chat(routed.origin, body, { "x-rest": "1" });
  await response.body?.cancel();

  assert.equal(routed.rest.requests[0]?.body, body);
});

Deno.test("the list of models joins those of all routes, each with its own", async () => {
  await using routed = await openRouted();

  const response = await fetch(`${routed.origin}/v1/models`);
  const { data } = await response.json();

  assert.deepEqual(
    data.map(({ id }: { id: string }) => id).sort(),
    ["claude-sonnet-4", "gpt-4-fast", "gpt-4o", "gpt-4o-mini", "o3"],
  );
});

Deno.test("an HTTPRoute has the model as a header", async () => {
  await using gpt = modelServer("gpt-4o");
  await using gateway = await startTestGateway(
    { backends: [{ name: "gpt", ...backend(gpt) }] },
    {},
    [{
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "gpt" },
      spec: {
        parentRefs: [{ name: "default" }],
        rules: [{
          matches: [{
            headers: [{
              name: "X-Gateway-Model",
              type: "RegularExpression",
              value: "gpt-4o(-mini)?",
            }],
          }],
          backendRefs: [{
            group: "policy.gateway.internal",
            kind: "GatewayBackend",
            name: "gpt",
          }],
        }],
      },
    }],
  );

  const found = await chat(gateway.origin, { model: "gpt-4o-mini" });
  const missed = await chat(gateway.origin, { model: "gpt-4o-max" });
  await Promise.all([found.body?.cancel(), missed.body?.cancel()]);

  assert.deepEqual([found.status, missed.status], [200, 404]);
});

async function openWithKeys(server: ProviderServer, rules: readonly string[]) {
  return await startTestGateway({
    routes: [{
      name: "llm",
      policies: {
        apiKeyAuthentication: {
          keys: [
            { key: "blue-key", metadata: { models: ["gpt-4o", "fast"] } },
            { key: "red-key", metadata: { models: ["o3"] } },
          ],
        },
        authorization: { policy: { matchExpressions: rules } },
      },
      backends: [backend(server, { aliases: { fast: "gpt-4o-mini" } })],
    }],
  });
}

const ofKey = ["llm.requestModel in apiKey.models"];

for (
  const [key, models] of [
    ["blue-key", ["fast", "gpt-4o"]],
    ["red-key", ["o3"]],
  ] as const
) {
  Deno.test(`${key} uses and sees its own models only`, async () => {
    await using server = modelServer("gpt-4o", "gpt-4o-mini", "o3");
    await using gateway = await openWithKeys(server, ofKey);
    const headers = { authorization: `Bearer ${key}` };

    const list = await fetch(`${gateway.origin}/v1/models`, { headers });
    const { data } = await list.json();
    const statuses = new Map<string, number>();
    for (const model of ["fast", "gpt-4o", "o3", "gpt-4o-mini"]) {
      const response = await chat(gateway.origin, { model }, headers);
      await response.body?.cancel();
      const shown = await fetch(`${gateway.origin}/v1/models/${model}`, {
        headers,
      });
      await shown.body?.cancel();
      assert.equal(shown.status, response.status, model);
      if (response.status === 200) statuses.set(model, response.status);
      else assert.equal(response.status, 403, model);
    }

    assert.deepEqual(data.map(({ id }: { id: string }) => id), models);
    assert.deepEqual([...statuses.keys()], models);
  });
}

Deno.test("a rule that is not about the model decides on the list itself", async () => {
  await using server = modelServer("o3");
  await using gateway = await openWithKeys(server, [
    ...ofKey,
    "request.headers['x-team'] == 'a'",
  ]);

  const headers = { authorization: "Bearer red-key" };
  const response = await fetch(`${gateway.origin}/v1/models`, { headers });
  await response.body?.cancel();

  assert.equal(response.status, 403);
});
