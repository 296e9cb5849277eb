import assert from "node:assert/strict";
import { textSource } from "../../../../mod.ts";
import { validateConfiguration } from "../../../../src/gateway/candidate/candidate.ts";

const apiKeyAuthentication = {
  keys: [{ key: "long-key-of-blue", metadata: { team: "blue" } }],
};

async function warningsOf(llm: object, policies: object) {
  const config = {
    gateways: { default: { port: 3000 } },
    routes: [{ name: "llm", policies, backends: [{ llm }] }],
  };
  const { diagnostics } = await validateConfiguration(
    textSource(JSON.stringify(config)),
    {},
  );
  return diagnostics.map(({ severity, message }) => `${severity}: ${message}`);
}

Deno.test("an LLM provider without credentials gets a warning where the gateway takes those of clients", async () => {
  const provider = "OpenAI";
  assert.deepEqual(await warningsOf({ provider }, { apiKeyAuthentication }), [
    'warning: Backend "default/llm/backend0" has no credentials: OpenAI rejects requests without a key; add "credentials"',
  ]);
  const credentials = { key: "sk-1234567890" };
  const known = { provider, credentials };
  assert.deepEqual(await warningsOf(known, { apiKeyAuthentication }), []);
  // Clients send keys of their own.
  assert.deepEqual(await warningsOf({ provider }, {}), []);
  const own = { provider, host: "127.0.0.1:8080", plainText: true };
  assert.deepEqual(await warningsOf(own, { apiKeyAuthentication }), []);
});
