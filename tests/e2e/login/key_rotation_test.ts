/** Keys that are replaced while two workers serve requests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { until } from "../../harness/servers/held_upstream.ts";
import { startProvider } from "../../harness/llm/provider_server.ts";

const CLIENTS = 6;
/** The kernel chooses the worker of each connection: all get the same one of two once in 500 000 runs. */
const CONNECTIONS = 20;
const ROTATIONS = 4;
const usage = { prompt_tokens: 2, completion_tokens: 3 };

function ask(origin: string, key: string): Promise<{ status: number }> {
  return fetchRaw(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
    },
    body: '{"model":"m1","messages":[]}',
  });
}

/** Clients that send one request after the other, each on a connection of its own. */
class Load {
  readonly statuses = new Map<number, number>();
  readonly #send: () => Promise<{ status: number }>;
  readonly #clients: Promise<void>[];
  readonly #finished: number[] = Array(CLIENTS).fill(0);
  #isOver = false;

  constructor(send: () => Promise<{ status: number }>) {
    this.#send = send;
    this.#clients = this.#finished.map((_, client) => this.#run(client));
  }

  /** Resolves when all requests under way now are over. */
  async turnover(): Promise<void> {
    const before = [...this.#finished];
    await until(() =>
      before.every((count, client) => (this.#finished[client] ?? 0) > count)
    );
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #run(client: number): Promise<void> {
    while (!this.#isOver) {
      const { status } = await this.#send();
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      this.#finished[client] = (this.#finished[client] ?? 0) + 1;
    }
  }
}

/** Configurations that all workers have. */
function applied({ log }: GatewayProcess): number {
  return log.all.filter((line) => line.includes("Configuration applied"))
    .length;
}

Deno.test("the key of a provider rotates in its file under load, and no request fails", async () => {
  const valid = new Set(["Bearer key-0"]);
  const received: string[] = [];
  await using provider = startProvider(({ headers }) => {
    const key = headers.get("authorization") ?? "";
    received.push(key);
    const status = valid.has(key) ? 200 : 401;
    return Response.json({ usage }, { status });
  });
  const folder = await Deno.makeTempDir();
  const file = join(folder, "key");
  await replaceFile(file, "key-0\n");
  await using gateway = await GatewayProcess.start({
    config: {
      config: { workers: 2 },
      routes: [{
        name: "llm",
        backends: [{
          llm: {
            provider: "OpenAI",
            host: provider.host,
            plainText: true,
            credentials: { file },
          },
        }],
      }],
    },
  });
  await until(() => applied(gateway) > 0);
  const load = new Load(() => ask(gateway.origin, "of-the-client"));

  for (let rotation = 1; rotation <= ROTATIONS; rotation++) {
    const key = `Bearer key-${rotation}`;
    valid.add(key);
    const before = applied(gateway);
    await replaceFile(file, `key-${rotation}\n`);
    await until(() =>
      applied(gateway) > before &&
      received.slice(-CONNECTIONS).every((each) => each === key)
    );
    // Requests that have begun may still have the old key.
    await load.turnover();
    valid.delete(`Bearer key-${rotation - 1}`);
    await load.turnover();
  }
  await load.end();

  assert.deepEqual(
    [...load.statuses.keys()],
    [200],
    gateway.log.all.join("\n"),
  );
  assert.equal(received.at(-1), `Bearer key-${ROTATIONS}`);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("the keys of a team rotate under load, on one budget of all workers in Deno KV", async () => {
  await using provider = startProvider(() => Response.json({ usage }));
  const configWith = (...keys: string[]) => ({
    config: { workers: 2, kv: { path: ":memory:" } },
    routes: [{
      name: "llm",
      policies: {
        apiKeyAuthentication: {
          keys: keys.map((key) => ({ key, metadata: { team: "blue" } })),
        },
        rateLimit: {
          global: {
            domain: "llm",
            timeout: "30s",
            descriptors: [{
              tokens: 1_000_000,
              unit: "Days",
              entries: [{ key: "team", value: "apiKey.team" }],
            }],
          },
        },
      },
      backends: [{ host: provider.host }],
    }],
  });
  await using gateway = await GatewayProcess.start({
    config: configWith("key-0"),
  });
  const { origin, port, file } = gateway;
  let key = "key-0";
  const load = new Load(() => ask(origin, key));
  let probes = 0;
  const allGive = async (status: number, probed: string) => {
    const seen = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => ask(origin, probed)),
    );
    probes += seen.filter((each) => each.status === 200).length;
    return seen.every((each) => each.status === status);
  };

  for (let rotation = 1; rotation <= ROTATIONS; rotation++) {
    const [old, next] = [key, `key-${rotation}`];
    await replaceFile(file, configFor(port, configWith(old, next)));
    await until(() => allGive(200, next));
    key = next;
    await load.turnover();
    await replaceFile(file, configFor(port, configWith(next)));
    await until(() => allGive(401, old));
  }
  await load.end();

  assert.deepEqual([...load.statuses.keys()], [200]);
  const requests = (load.statuses.get(200) ?? 0) + probes;
  assert.equal(provider.requests.length, requests);
  const shown = await (await fetch(`${gateway.admin}/usage`)).json();
  assert.deepEqual(
    shown.usage.map((row: Record<string, unknown>) => [
      row["name"],
      row["requests"],
      row["inputTokens"],
    ]),
    [["team=blue", requests, 2 * requests]],
  );
  const dump = await (await fetch(`${gateway.admin}/config_dump`)).json();
  assert.equal(dump.budgets[0].remaining, 1_000_000 - 5 * requests);
});
