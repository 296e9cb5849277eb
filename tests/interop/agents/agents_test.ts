/** Agents on every provider; `make interop-agents` installs them, runs this file, and writes the matrix into `docs/llm.md`. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
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
        apiKeyAuthentication: {
          keys: [{ key: "client-key" }],
          ...(client.keyHeader !== undefined && {
            location: { header: { name: client.keyHeader } },
          }),
        },
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
    const { args: [program = "", ...args], env, settings } = client.command(
      gateway.origin,
      home,
    );
    if (settings !== undefined) {
      const [path, text] = settings;
      await Deno.mkdir(dirname(`${home}/${path}`), { recursive: true });
      await Deno.writeTextFile(`${home}/${path}`, text);
    }
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
  const text = await Deno.readTextFile(file);
  const updated = text.replace(known, (earlier) => table(cellsOf(earlier)));
  if (Deno.env.get("GOLDEN") === "update") {
    await Deno.writeTextFile(file, updated);
  } else assert.equal(text, updated, "run it with GOLDEN=update");
});

const known = /^\| client {2,}\| `OpenAI`.*\n(?:\|.*\n)+/m;

/** Returns the rows of a table by their first cells. */
function cellsOf(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = text.split("\n").map((line) =>
    line.split("|").slice(1, -1).map((cell) => cell.trim())
  );
  return new Map(rows.map(([name = "", ...cells]) => [name, cells]));
}

/** Formats the matrix as `deno fmt` does. @param earlier Results of clients that this run leaves out. */
function table(earlier: ReadonlyMap<string, readonly string[]>): string {
  const rows = [
    ["client", ...fakeProviders.map(({ name }) => `\`${name}\``)],
    ...agentClients.map(({ name }) => [
      name,
      ...fakeProviders.map((provider, index) =>
        matrix.get(`${name}/${provider.name}`) ??
          earlier.get(name)?.[index] ?? "not run"
      ),
    ]),
  ];
  const widths = fakeProviders.concat(fakeProviders[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  const line = (row: readonly string[], filler = " ") =>
    `| ${
      row.map((cell, column) => cell.padEnd(widths[column] ?? 0, filler))
        .join(" | ")
    } |\n`;
  const [head = [], ...others] = rows;
  return line(head) + line(head.map(() => ""), "-") +
    others.map((row) => line(row)).join("");
}
