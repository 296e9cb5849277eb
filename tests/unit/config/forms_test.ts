import assert from "node:assert/strict";
import { textSource, validateConfiguration } from "../../../mod.ts";
import { fillForm, formsFor } from "../../../src/config/edit/forms.ts";

const file = `# The gateway of team blue
gateways:
  default: { port: 3000 } # all listeners
routes:
  - name: hello # says hello
    matches: [{ path: { type: PathPrefix, value: /hello } }]
    policies:
      directResponse: { status: 200, body: first }
  - name: tools
    matches: [{ path: { type: PathPrefix, value: /tools } }]
    backends:
      - mcp:
          servers:
            - { name: docs, url: "http://127.0.0.1:8001/mcp" } # the first
`;

const environment = {
  OPENAI_API_KEY: "sk-0123456789",
  AZURE_OPENAI_API_KEY: "azure-0123456789",
  AWS_BEARER_TOKEN_BEDROCK: "bedrock-0123456789",
  GITHUB_TOKEN: "ghp-0123456789",
  BLUE_TEAM_KEY: "blue-0123456789-0123456789",
};

const cases = [
  {
    id: "provider",
    values: { provider: "OpenAI", models: "gpt-*, o3" },
    added: /model: gpt-\*\n\s*- model: o3\n[^]*fromEnv: OPENAI_API_KEY/,
  },
  {
    id: "provider",
    values: { provider: "Azure", host: "blue.openai.azure.com" },
    added: /provider: Azure\n\s*host: blue\.openai\.azure\.com/,
  },
  {
    id: "provider",
    values: { provider: "Bedrock", region: "us-east-1" },
    added: /region: us-east-1/,
  },
  {
    id: "mcpServer",
    values: {
      name: "github",
      url: "https://api.githubcopilot.com/mcp/",
      endpoint: "1 0",
      variable: "GITHUB_TOKEN",
    },
    added:
      /8001\/mcp" } # the first\n {12}- name: github\n {14}url: [^]*fromEnv: GITHUB_TOKEN/,
  },
  {
    id: "mcpServer",
    values: { name: "jira", url: "https://jira.example/mcp", endpoint: "" },
    added: /- name: mcp\n[^]*servers:\n\s*- name: jira/,
  },
  {
    id: "protectedMcp",
    values: {
      host: "127.0.0.1:9000",
      resource: "https://mcp.example.com/mcp",
      issuer: "https://login.example.com",
      jwks: "https://login.example.com/jwks.json",
      rule: "'editor' in jwt.roles",
    },
    added: /issuer: https:\/\/login\.example\.com[^]*'editor' in jwt\.roles/,
  },
  {
    id: "route",
    values: { path: "/api/v1", host: "127.0.0.1:8080" },
    added: /- name: api-v1\n/,
  },
  {
    id: "limit",
    values: { route: "0", amount: "60", key: "source.address" },
    added:
      /body: first }\n {6}rateLimit:\n {8}local:\n {10}- requests: 60\n {12}unit: Minutes\n {12}key: source\.address/,
  },
  {
    id: "limit",
    values: { route: "1", what: "usd", amount: "2.5", unit: "Days" },
    added: /cost:\n\s*usd: 2\.5\n\s*unit: Days/,
  },
  {
    id: "key",
    values: { route: "0", variable: "BLUE_TEAM_KEY", team: "blue" },
    added: /- key: \$\{BLUE_TEAM_KEY\}\n\s*metadata:\n\s*team: blue/,
  },
];

for (const { id, values, added } of cases) {
  Deno.test(`form ${id} makes a valid file of ${JSON.stringify(values)}`, async () => {
    const edited = fillForm(file, id, values);

    const { text } = await validateConfiguration(
      textSource(edited),
      environment,
    );
    assert.doesNotMatch(text, /error/);
    assert.match(edited, added);
    const lines = edited.split("\n");
    for (const line of file.split("\n")) assert(lines.includes(line), line);
  });
}

Deno.test("every form makes a valid file of its examples", async () => {
  const forms = formsFor(file);

  for (const { id, fields } of forms) {
    const values = Object.fromEntries(
      fields.filter((field) => field.isRequired && field.options === undefined)
        .map(({ name, value, example = "" }) => [name, value ?? example]),
    );
    const edited = fillForm(file, id, values);
    const { text } = await validateConfiguration(
      textSource(edited),
      environment,
    );
    assert.doesNotMatch(text, /error/, `${id}: ${text}`);
  }
  assert(forms.length >= 6);
});

const wrong = [
  { id: "limit", values: { amount: "" }, error: /At most: is missing/ },
  { id: "limit", values: { amount: "x" }, error: /"x" is not a number/ },
  {
    id: "limit",
    values: { amount: "1", route: "7" },
    error: /Route: "7" is none of the options/,
  },
  { id: "toString", values: {}, error: /there is no form "toString"/ },
];

for (const { id, values, error } of wrong) {
  Deno.test(`form ${id} rejects ${JSON.stringify(values)}`, () => {
    assert.throws(() => fillForm(file, id, values), error);
  });
}

Deno.test("without routes, there is nothing to limit", () => {
  assert.throws(
    () => fillForm("", "limit", { amount: "1" }),
    /Route: the file has none/,
  );
});
