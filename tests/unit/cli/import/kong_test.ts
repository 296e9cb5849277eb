import assert from "node:assert/strict";
import { importText } from "../../../../cli/import/import_file.ts";
import { parseAllYaml } from "../../../../src/base/yaml_library.ts";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

/** Imports a text; the result must load. */
async function imported(text: string) {
  const { text: yaml, notes } = await importText("kong.yaml", text);
  const { diagnostics } = await validateConfiguration(textSource(yaml), {
    OPENAI_KEY: "sk-1",
  });
  assert.deepEqual(diagnostics, []);
  const [document] = parseAllYaml(yaml);
  return {
    routes: Object(document).routes,
    notes: notes.map(({ line, column, message }) =>
      `${line}:${column} ${message}`
    ),
  };
}

Deno.test("import takes over routes of Kong with consumers, their keys, groups and limits", async () => {
  const { routes, notes } = await imported(`
_format_version: "3.0"
services:
- name: orders
  url: http://127.0.0.1:9001/api
  routes:
  - { name: Orders, paths: [/orders], hosts: [shop.example.org], methods: [GET] }
  plugins:
  - { name: key-auth, config: { key_names: [x-key] } }
  - { name: acl, config: { allow: [staff] } }
  - { name: rate-limiting, config: { minute: 10, hour: 100 } }
consumers:
- username: anna
  keyauth_credentials: [{ key: anna-key-1 }]
  acls: [{ group: staff }]
- username: bot
  keyauth_credentials: [{ key: bot-key-1 }]
  plugins: [{ name: rate-limiting, config: { minute: 1000 } }]
`);

  assert.deepEqual(notes, []);
  const when = '!has(apiKey.name) || !(apiKey.name in ["bot"])';
  const key = "has(apiKey.name) ? apiKey.name : source.address";
  assert.deepEqual(routes, [{
    name: "orders",
    gateways: ["default"],
    hostnames: ["shop.example.org"],
    matches: [{
      path: { type: "PathPrefix", value: "/orders" },
      method: "GET",
    }],
    policies: {
      apiKeyAuthentication: {
        keys: [
          {
            keyHash:
              "sha256:9fb562a748ee49e0a5f0b1b030acc928e715ff20f8269679a59b1b53ec69a8ed",
            metadata: { name: "anna", groups: ["staff"] },
          },
          {
            keyHash:
              "sha256:821d27aab3c9c5701c575821bf3ae676e8dc84083884c46dc6691b9178ceb19b",
            metadata: { name: "bot" },
          },
        ],
        location: { header: { name: "x-key" } },
      },
      authorization: {
        policy: {
          matchExpressions: [
            'has(apiKey.groups) && apiKey.groups.exists(g, g in ["staff"])',
          ],
        },
      },
      rateLimit: {
        local: [
          { requests: 10, unit: "Minutes", when, key },
          { requests: 100, unit: "Hours", when, key },
          {
            requests: 1000,
            unit: "Minutes",
            when: 'has(apiKey.name) && apiKey.name == "bot"',
          },
        ],
      },
      urlRewrite: {
        path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/api" },
      },
    },
    backends: [{ host: "127.0.0.1:9001" }],
  }]);
});

Deno.test("import takes over the LLM provider of Kong's ai-proxy", async () => {
  const { routes, notes } = await imported(`
_format_version: "3.0"
services:
- name: ai
  url: http://localhost:32000
  routes:
  - name: chat
    paths: ["~/v1/chat/completions$"]
    plugins:
    - name: ai-proxy
      config:
        route_type: llm/v1/chat
        auth: { header_name: Authorization, header_value: "Bearer {vault://env/openai-key}" }
        model: { provider: openai, name: gpt-4o }
`);

  assert.deepEqual(notes, []);
  assert.deepEqual(routes[0].backends, [{
    llm: {
      provider: "OpenAI",
      model: "gpt-4o",
      credentials: { key: "${OPENAI_KEY}" },
    },
  }]);
});

Deno.test("a route of Kong is closed without a plugin that restricted it, and open without one that observed it", async () => {
  const { routes, notes } = await imported(`
_format_version: "3.0"
plugins: [{ name: prometheus }]
services:
- url: http://127.0.0.1:9001
  routes:
  - { name: a, paths: [/a], plugins: [{ name: jwt }] }
  - { name: b, paths: [/b], plugins: [{ name: jwt, enabled: false }] }
  - { name: c, paths: [/c], plugins: [{ name: jwt }, { name: rate-limiting, config: { minute: 5 } }] }
`);

  assert.deepEqual(notes.map((note) => note.replace(/^\S+ /, "")), [
    "plugin prometheus: no counterpart",
    "plugin jwt: no counterpart",
    "plugin jwt: no counterpart",
  ]);
  assert.deepEqual(routes[0].policies, {
    directResponse: { status: 503, body: "not imported: jwt" },
  });
  assert.equal(routes[1].policies.directResponse, undefined);
  // The limit is not lost when the plugin is replaced and the route opened.
  assert("rateLimit" in routes[2].policies);
});

Deno.test("a plugin of Kong about some routes closes all, since others with its name could take its place", async () => {
  const { routes, notes } = await imported(`
_format_version: "3.0"
plugins:
- { name: acl, route: admin, config: { allow: [admins] } }
- { name: acl, route: public, config: { allow: [everyone] } }
- { name: prometheus, service: a }
services:
- url: http://127.0.0.1:9001
  routes:
  - { name: admin, paths: [/admin] }
`);

  assert.deepEqual(notes.map((note) => note.replace(/^\S+ /, "")), [
    "plugins: write acl below its route",
    "plugins: write acl below its route",
    "plugins: write prometheus below its service",
  ]);
  assert.deepEqual(routes[0].policies, {
    directResponse: { status: 503, body: "not imported: acl, acl" },
  });
});

Deno.test("a route of Kong matches each value of a header", async () => {
  const { routes, notes } = await imported(`
_format_version: "3.0"
services:
- name: a
  url: http://127.0.0.1:9001
  routes: [{ name: a, headers: { x-v: ["1", "2"], x-w: [a] } }]
`);

  const matches = ["1", "2"].map((value) => ({
    headers: [{ name: "x-v", value }, { name: "x-w", value: "a" }],
  }));
  assert.deepEqual([routes[0].matches, notes], [matches, []]);
});

Deno.test("import takes over CORS, retries and the time-out of Kong, and copies no key of a provider", async () => {
  const { text, notes } = await importText(
    "kong.yaml",
    `
_format_version: "3.0"
services:
- name: orders
  url: http://127.0.0.1:9001
  retries: 3
  read_timeout: 120000
  connect_timeout: 500
  routes:
  - name: orders
    paths: [/orders]
    strip_path: false
    plugins:
    - { name: cors, config: { origins: ["https://a.example", "a.*b"], methods: [GET], max_age: 60, credentials: true } }
- name: ai
  url: http://localhost
  routes:
  - name: chat
    paths: ["~/v1/chat/completions$"]
    plugins:
    - name: ai-proxy
      config:
        route_type: llm/v1/chat
        auth: { header_name: Authorization, header_value: "Bearer sk-planted-5d1f" }
        model: { provider: openai, name: gpt-4o }
`,
  );
  const [document] = parseAllYaml(text);
  const [orders, chat] = Object(document).routes;
  const { fromEnv } = chat.backends[0].llm.credentials;
  const { diagnostics } = await validateConfiguration(textSource(text), {
    [fromEnv]: "sk-1",
  });

  assert.deepEqual(diagnostics, []);
  assert.deepEqual(orders.policies.cors, {
    allowOrigins: ["https://a.example"],
    allowMethods: ["GET"],
    allowHeaders: ["*"],
    allowCredentials: true,
    maxAge: 60,
  });
  assert.deepEqual(orders.retry, { attempts: 3 });
  assert.deepEqual(orders.timeouts, { backendRequest: "120s" });
  assert.deepEqual(orders.backends, [{ host: "127.0.0.1:9001" }]);
  assert.match(fromEnv, /^OPENAI_KEY_[0-9A-F]{4}$/);
  assert.doesNotMatch(text, /sk-planted/);
  const messages = notes.map(({ message }) => message).join("\n");
  assert.match(messages, /^connect_timeout: no counterpart in a route/m);
  assert.match(messages, /^origin a\.\*b: /m);
  assert.match(
    messages,
    /^key: it is not copied; set the environment variable OPENAI_KEY_/m,
  );
});
