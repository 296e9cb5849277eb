import assert from "node:assert/strict";
import { importText } from "../../../../cli/import/import_file.ts";
import { parseAllYaml } from "../../../../src/base/yaml_library.ts";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

const environment = {
  OPENAI_KEY: "sk-1",
  OPENAI_KEY_D039: "sk-4",
  AZURE_KEY: "sk-2",
  MASTER: "sk-of-the-master",
};

/** Imports a text; the result must load. */
async function imported(text: string) {
  const { text: yaml, notes } = await importText("litellm.yaml", text);
  const { diagnostics } = await validateConfiguration(
    textSource(yaml),
    environment,
  );
  assert.deepEqual(diagnostics, []);
  const [document] = parseAllYaml(yaml);
  return {
    document,
    notes: notes.map(({ line, column, message }) =>
      `${line}:${column} ${message}`
    ),
  };
}

Deno.test("import takes over models of LiteLLM with deployments, fallbacks, router settings, master key and budget", async () => {
  const { document, notes } = await imported(`
model_list:
- model_name: fast
  litellm_params: { model: openai/gpt-4o-mini, api_key: os.environ/OPENAI_KEY, weight: 2 }
- model_name: fast
  litellm_params: { model: azure/mini-eu, api_base: "https://eu.openai.azure.com", api_key: os.environ/AZURE_KEY }
- model_name: local
  litellm_params: { model: openai/qwen, api_base: "http://127.0.0.1:8001/v1", api_key: none-needed }
router_settings:
  routing_strategy: latency-based-routing
  num_retries: 2
  timeout: 30
  fallbacks: [{ fast: [local] }]
  model_group_alias: { gpt-4: fast }
litellm_settings: { max_budget: 100, budget_duration: 30d }
general_settings: { master_key: os.environ/MASTER }
`);

  assert.deepEqual(notes, [
    "8:21 key: it is not copied; set the environment variable OPENAI_KEY_D039 to it",
  ]);
  const common = {
    timeouts: { request: "30s" },
    retry: { attempts: 2 },
    policies: {
      apiKeyAuthentication: {
        keys: [{ key: "${MASTER}", metadata: { name: "master" } }],
      },
      rateLimit: {
        global: {
          domain: "litellm",
          store: "KV",
          descriptors: [{
            entries: [{ key: "proxy", value: '"all"' }],
            cost: { usd: 100, unit: "Months" },
          }],
        },
      },
    },
  };
  const deploymentsFor = (name: string) => [
    {
      llm: {
        provider: "OpenAI",
        credentials: { key: "${OPENAI_KEY}" },
        aliases: { [name]: "gpt-4o-mini" },
      },
      weight: 2,
    },
    {
      llm: {
        provider: "Azure",
        host: "eu.openai.azure.com",
        credentials: { key: "${AZURE_KEY}" },
        aliases: { [name]: "mini-eu" },
      },
    },
  ];
  const local = (name: string) => ({
    llm: {
      provider: "OpenAI",
      host: "127.0.0.1:8001",
      basePath: "/v1",
      plainText: true,
      credentials: { fromEnv: "OPENAI_KEY_D039" },
      aliases: { [name]: "qwen" },
    },
  });
  const gateways = ["default"];
  assert.deepEqual(document, {
    config: { kv: { path: "gateway.db" } },
    gateways: { default: { port: 4000 } },
    routes: [
      {
        ...{ name: "fast", gateways, matches: [{ model: "fast" }] },
        ...common,
        loadBalancing: { policy: "LeastLatency" },
        backends: [...deploymentsFor("fast"), {
          ...local("fast"),
          priority: 1,
        }],
      },
      {
        ...{ name: "local", gateways, matches: [{ model: "local" }] },
        ...common,
        backends: [local("local")],
      },
      {
        ...{ name: "gpt-4", gateways, matches: [{ model: "gpt-4" }] },
        ...common,
        loadBalancing: { policy: "LeastLatency" },
        backends: deploymentsFor("gpt-4"),
      },
    ],
  });
});

Deno.test("import names what LiteLLM has and this gateway has not, and closes what it would have limited", async () => {
  const { document, notes } = await imported(`
model_list:
- model_name: fast
  litellm_params: { model: sagemaker/x, rpm: 5 }
- model_name: slow
  litellm_params: { model: gpt-4o }
litellm_settings: { max_budget: 100, callbacks: [langfuse] }
router_settings: { routing_strategy: least-busy }
`);

  assert.deepEqual(notes, [
    "4:21 provider sagemaker: no counterpart; write OpenAICompatible with its host",
    "4:41 model_list[0].litellm_params.rpm: no counterpart",
    "7:21 max_budget: no counterpart without a window of a minute, an hour, a day, 7d, 30d or 1mo",
    "7:38 litellm_settings.callbacks: no counterpart",
    "8:20 routing_strategy: no counterpart for least-busy",
  ]);
  const { routes } = Object(document);
  assert.deepEqual(
    routes.map(({ policies }: { policies: unknown }) => policies),
    [
      {
        directResponse: {
          status: 503,
          body: "not imported: max_budget, ai",
        },
      },
      { directResponse: { status: 503, body: "not imported: max_budget" } },
    ],
  );
});

Deno.test("import takes over drop_params of LiteLLM, which is the default here", async () => {
  const withDropParams = (value: boolean) =>
    imported(`
model_list:
- { model_name: a, litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_KEY } }
litellm_settings: { drop_params: ${value} }
`);

  assert.deepEqual((await withDropParams(true)).notes, []);
  const { notes } = await withDropParams(false);
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? "", /^4:\d+ drop_params: .*`unsupported: Reject`/);
});

Deno.test("import finds no provider, window or strategy of LiteLLM behind a name of Object.prototype", async () => {
  const { notes } = await imported(`
model_list:
- model_name: fast
  litellm_params: { model: constructor/x }
litellm_settings: { max_budget: 100, budget_duration: toString }
router_settings: { routing_strategy: valueOf }
`);

  assert.deepEqual(notes, [
    "4:21 provider constructor: no counterpart; write OpenAICompatible with its host",
    "5:38 max_budget: no counterpart without a window of a minute, an hour, a day, 7d, 30d or 1mo",
    "6:20 routing_strategy: no counterpart for valueOf",
  ]);
});
