import assert from "node:assert/strict";
import { importText } from "../../../../cli/import/import_file.ts";
import { parseAllYaml } from "../../../../src/base/yaml_library.ts";
import { textSource } from "../../../../src/config/configuration_source.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate.ts";

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
            key: "anna-key-1",
            metadata: { name: "anna", groups: ["staff"] },
          },
          { key: "bot-key-1", metadata: { name: "bot" } },
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
