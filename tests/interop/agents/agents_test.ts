/** Agents on every provider; `make interop-agents` installs them, runs this file, and writes the matrix into `docs/llm.md`. */
import assert from "node:assert/strict";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import { type AgentClient, agentClients, TURNS } from "./agent_clients.ts";
import {
  type FakeProvider,
  fakeProviders,
  FINAL_TEXT,
  startFakeProvider,
} from "./fake_providers.ts";

const LIMIT_MS = 120_000;

interface Outcome {
  readonly output: string;
  readonly rejections: readonly string[];
  readonly results: number;
}

/** Runs a conversation of ten calls through a gateway. */
async function converse(
  client: AgentClient,
  provider: FakeProvider,
): Promise<Outcome> {
  const home = await Deno.makeTempDir();
  const isNative = client.native.includes(provider.name);
  const script = (request: Parameters<AgentClient["call"]>[0]) =>
    request.results < TURNS ? client.call(request) : undefined;
  await using fake = startFakeProvider(provider, script, isNative);
  await using gateway = await startTestGateway({
    routes: [{
      name: "llm",
      policies: {
        apiKeyAuthentication: { keys: [{ key: "client-key" }] },
      },
      backends: [{
        llm: {
          provider: provider.name,
          host: fake.host,
          plainText: true,
          credentials: { key: "provider-key" },
          ...provider.settings,
        },
      }],
    }],
  });
  try {
    const { args: [program = "", ...args], env } = client.command(
      gateway.origin,
      home,
    );
    const { stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      env: { ...env, HOME: home, NO_COLOR: "1" },
      cwd: home,
      stdin: "null",
      signal: AbortSignal.timeout(LIMIT_MS),
    }).output();
    const decoder = new TextDecoder();
    const output = decoder.decode(stdout) + decoder.decode(stderr);
    return { output, rejections: fake.rejections, results: fake.results };
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const matrix = new Map<string, string>();

for (const client of agentClients) {
  for (const provider of fakeProviders) {
    Deno.test(`${client.name} has a conversation of ten turns on ${provider.name}`, async () => {
      const key = `${client.name}/${provider.name}`;
      matrix.set(key, "fails");
      const { output, rejections, results } = await converse(client, provider);

      assert.deepEqual(rejections, [], output);
      assert.ok(output.includes(FINAL_TEXT), output);
      assert.ok(results >= TURNS, `${results} results: ${output}`);
      matrix.set(
        key,
        client.native.includes(provider.name) ? "as it is" : "translated",
      );
    });
  }
}

Deno.test("the manual has the matrix of this run", async () => {
  const file = new URL("../../../docs/llm.md", import.meta.url);
  const head = ["client", ...fakeProviders.map(({ name }) => `\`${name}\``)];
  const rows = agentClients.map(({ name }) => [
    name,
    ...fakeProviders.map((provider) =>
      matrix.get(`${name}/${provider.name}`) ?? "not run"
    ),
  ]);
  const text = await Deno.readTextFile(file);
  const cells = (row: readonly string[]) => row.join("|").replace(/ /g, "");
  const known = text.split("\n").filter((line) => line.startsWith("|"))
    .map((line) => line.replace(/ /g, "").replace(/^\||\|$/g, ""));

  for (const row of [head, ...rows]) {
    assert.ok(
      known.includes(cells(row)),
      `docs/llm.md lacks ${row.join(" | ")}`,
    );
  }
});
