import assert from "node:assert/strict";
import { join } from "node:path";
import { textSource, validateConfiguration } from "../../../mod.ts";
import {
  createConfigFolder,
  followFile,
  replaceFile,
} from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { startOtlpCollector } from "../../harness/servers/otlp_collector.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";

const KEY = "sk-planted-0f6b1ce2";
const POLICY_API = "policy.gateway.internal/v1alpha1";

function post(origin: string): Promise<Response> {
  const body = '{"model":"m1","messages":[]}';
  return fetch(`${origin}/v1/chat/completions`, { method: "POST", body });
}

Deno.test("the provider's key goes to the provider, and is shown nowhere", async () => {
  const statuses = [200, 401, 429, 500];
  await using provider = startProvider(({ headers }) =>
    Response.json({ usage: { prompt_tokens: 1, completion_tokens: 1 } }, {
      status: statuses[Number(headers.get("x-attempt"))] ?? 200,
    })
  );
  const backend = (credentials: unknown) => ({
    llm: {
      provider: "OpenAI",
      host: provider.host,
      plainText: true,
      credentials,
      aliases: { m1: "m2" },
    },
  });
  await using collector = await startOtlpCollector("http");
  const { endpoint, protocol } = collector;
  const policies = { rateLimit: { local: [{ tokens: 9, unit: "Days" }] } };
  await using gateway = await GatewayProcess.start({
    env: { PROVIDER_KEY: KEY },
    config: {
      config: {
        logging: { level: "trace" },
        otlp: { endpoint, protocol },
        tracing: {},
        metrics: { otlpInterval: "1s" },
      },
      routes: [
        {
          name: "env",
          matches: [{ headers: [{ name: "x-place", value: "env" }] }],
          policies,
          backends: [backend({ fromEnv: "PROVIDER_KEY" })],
        },
        { name: "key", policies, backends: [backend({ key: KEY })] },
      ],
    },
  });
  const shown: string[] = [];
  for (const place of ["env", "key"]) {
    for (const attempt of statuses.keys()) {
      const trace = await fetch(`${gateway.admin}/debug/trace`);
      const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: "POST",
        headers: { "x-attempt": String(attempt), "x-place": place },
        body: '{"model":"m1"}',
      });
      const fields = JSON.stringify([...response.headers]);
      shown.push(fields, await response.text(), await trace.text());
    }
  }
  const requests = await (
    await fetch(`${gateway.admin}/debug/requests`)
  ).json();
  const logged = await (await fetch(`${gateway.admin}/requests`)).json();
  assert.equal(logged.requests.length, 8);
  const paths = [
    ...["/config_dump", "/debug/tasks", "/memory", "/debug/requests"],
    ...["/debug/pprof/heap?debug=1", "/requests"],
    ...requests.map(({ id }: { id: string }) => `/debug/requests/${id}`),
    ...logged.requests.map(({ record }: { record: string }) =>
      `/requests/${record}`
    ),
    ...["route", "backend", "model", "key"].map((by) => `/traffic?by=${by}`),
    ...["route", "model", "key"].map((by) => `/usage?by=${by}`),
    ...["status", "config", "metrics", "budgets", "keys", "memory", "tasks"]
      .map((page) => `/ui/api/${page}`),
    ...["usage", "traffic", "requests"].map((page) => `/ui/api/${page}`),
  ];
  for (const path of paths) {
    const response = await fetch(gateway.admin + path);
    assert.equal(response.status, 200, path);
    shown.push(await response.text());
  }
  // A span of each request, and one of its attempt.
  await collector.until(() =>
    collector.spans.length >= 16 &&
    collector.received.some(({ signal }) => signal === "metrics")
  );
  shown.push(JSON.stringify(collector.received));
  shown.push(await (await fetch(`${gateway.stats}/metrics`)).text());
  shown.push(...gateway.log.all, ...gateway.accessLog.all);

  const sent = provider.requests.map(({ headers }) =>
    headers.get("authorization")
  );
  assert.deepEqual(sent, Array(8).fill(`Bearer ${KEY}`));
  assert.equal(requests.length, 6);
  assert.match(shown.join("\n"), /"credentials":\s*"<redacted>"/);
  for (const text of shown) assert.ok(!text.includes(KEY), text);
});

for (
  const [what, credentials, problem] of [
    [
      "a variable that is not set",
      { fromEnv: "MISSING" },
      /7:\d+: error: .*credentials\.fromEnv: Cannot use the credentials: environment variable "MISSING" is not set/,
    ],
    [
      "a file that does not exist",
      { file: "/nowhere/key" },
      /Cannot use the credentials: no such file "\/nowhere\/key"/,
    ],
    [
      "a Secret that does not exist",
      { secretRef: { name: "openai" } },
      /Cannot use the credentials: Secret "default\/openai" not found/,
    ],
    [
      "a key with a line break",
      { key: `${KEY}\nx` },
      /Cannot use the credentials: it has blanks or characters that no key has/,
    ],
    [
      "two places",
      { key: KEY, file: "/nowhere/key" },
      /"fromEnv", "key", "file" and "secretRef" cannot be used together/,
    ],
  ] as const
) {
  Deno.test(`credentials from ${what} are an error that says where`, async () => {
    const config = `gateways: { default: { port: 1 } }
routes:
  - name: llm
    backends:
      - llm:
          provider: OpenAI
          credentials: ${JSON.stringify(credentials)}
`;
    const { text } = await validateConfiguration(textSource(config), {});

    assert.match(text, problem);
    assert.doesNotMatch(text, /Backend .* not found/);
    assert.ok(!text.includes(KEY), text);
  });
}

for (
  const [what, llm, problem] of [
    [
      "Azure without its host",
      { provider: "Azure" },
      /Provider "Azure" requires "host"/,
    ],
    [
      "an unknown provider",
      { provider: "OpenAl" },
      /did you mean "OpenAI"/,
    ],
    [
      "a URL as host",
      { provider: "OpenAI", host: "https://x.example.com/v1" },
      /expected a host such as "llm\.example\.com"/,
    ],
  ] as const
) {
  Deno.test(`the configuration check names ${what}`, async () => {
    const config = {
      gateways: { default: { port: 1 } },
      routes: [{ name: "llm", backends: [{ llm }] }],
    };
    const { text } = await validateConfiguration(
      textSource(JSON.stringify(config)),
      {},
    );

    assert.match(text, problem);
    assert.doesNotMatch(text, /Backend .* not found/);
  });
}

function secret(namespace: string) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "openai", namespace },
    data: { apiKey: btoa(KEY) },
  };
}

for (
  const [what, namespace, grants, status] of [
    ["its namespace", "default", [], 200],
    ["another namespace without a grant", "keys", [], 500],
    ["another namespace with a grant", "keys", [{
      apiVersion: "gateway.networking.k8s.io/v1beta1",
      kind: "ReferenceGrant",
      metadata: { name: "llm", namespace: "keys" },
      spec: {
        from: [{
          group: "policy.gateway.internal",
          kind: "GatewayBackend",
          namespace: "default",
        }],
        to: [{ group: "", kind: "Secret" }],
      },
    }], 200],
  ] as const
) {
  Deno.test(`a GatewayBackend reads its key from a Secret of ${what}`, async () => {
    await using provider = startProvider();
    const resources = [secret(namespace), ...grants, {
      apiVersion: POLICY_API,
      kind: "GatewayBackend",
      metadata: { name: "openai" },
      spec: {
        llm: {
          provider: "OpenAI",
          host: provider.host,
          plainText: true,
          credentials: { secretRef: { name: "openai", namespace } },
        },
      },
    }];
    const routes = [{ name: "llm", backends: [{ backend: "openai" }] }];
    if (status === 500) {
      await assert.rejects(
        startTestGateway({ routes }, {}, resources),
        /no ReferenceGrant of namespace "keys" allows Secret "keys\/openai"/,
      );
      return;
    }
    await using gateway = await startTestGateway({ routes }, {}, resources);

    const response = await post(gateway.origin);
    await response.body?.cancel();

    assert.equal(
      provider.requests[0]?.headers.get("authorization"),
      `Bearer ${KEY}`,
    );
  });
}

Deno.test("a backend of a cluster reads neither variables nor files of the gateway", async () => {
  const resource = {
    apiVersion: POLICY_API,
    kind: "GatewayBackend",
    metadata: { name: "thief", uid: "1" },
    spec: {
      llm: { provider: "OpenAI", credentials: { file: "/etc/hostname" } },
    },
  };

  const { text } = await validateConfiguration(
    textSource(JSON.stringify(resource)),
    {},
  );

  assert.match(text, /a backend of the cluster needs "secretRef"/);
});

Deno.test("a key file that rotates under load costs no request", async () => {
  await using provider = startProvider();
  const port = freePort();
  const { folder, file } = await createConfigFolder({
    gateways: { default: { port, address: "127.0.0.1" } },
    routes: [{
      name: "llm",
      backends: [{
        llm: {
          provider: "OpenAI",
          host: provider.host,
          plainText: true,
          credentials: { file: "key.txt" },
        },
      }],
    }],
  });
  const keyFile = join(folder, "key.txt");
  await replaceFile(keyFile, `${KEY}-old\n`);
  await using gateway = await followFile(folder, file);
  let isOver = false;
  const statuses = new Set<number>();
  const load = async () => {
    while (!isOver) {
      const response = await post(`http://127.0.0.1:${port}`);
      await response.body?.cancel();
      statuses.add(response.status);
    }
  };
  const clients = [load(), load(), load()];

  await replaceFile(keyFile, `${KEY}-new\n`);
  await gateway.log.next(/Configuration applied/);
  isOver = true;
  await Promise.all(clients);
  const before = provider.requests.length;
  await (await post(`http://127.0.0.1:${port}`)).body?.cancel();

  assert.deepEqual([...statuses], [200]);
  assert.equal(
    provider.requests[before]?.headers.get("authorization"),
    `Bearer ${KEY}-new`,
  );
});
