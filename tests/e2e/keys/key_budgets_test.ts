import assert from "node:assert/strict";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

async function ctl({ admin }: GatewayProcess, ...args: readonly string[]) {
  const { stdout } = await gatewayCommand({
    args: ["ctl", ...args, "--admin", new URL(admin).host],
  }).output();
  return new TextDecoder().decode(stdout);
}

/** Returns what is used, what is left and the amount, by owner and limit. */
async function ownersIn(gateway: GatewayProcess) {
  const limits = JSON.parse(
    await ctl(gateway, "proxy", "limits", "-o", "json"),
  );
  return Object.fromEntries(
    limits.map((
      { owner, entry, used, remaining, limit }: Record<string, unknown>,
    ) => [`${owner}: ${entry}`, [used, remaining, limit]]),
  );
}

for (const workers of [1, 2]) {
  Deno.test(`limits show what is left of the budgets of a team and of a key, and whose they are, with ${workers} workers`, async () => {
    await using upstream = await LlmUpstream.start(() => ({
      contentType: json,
      body: bytesOf(JSON.stringify({
        model: "gpt-4o",
        choices: [],
        usage: { prompt_tokens: 1000, completion_tokens: 1000 },
      })),
    }));
    const [{ host }] = upstream.backends;
    await using gateway = await GatewayProcess.start({
      config: {
        config: { kv: { path: ":memory:" }, workers },
        routes: [{
          name: "llm",
          policies: { apiKeyAuthentication: { stored: true } },
          backends: [{
            llm: { provider: "OpenAI", host, plainText: true },
          }],
        }],
      },
    });
    const createKey = async (team: string, budget: string) => {
      const name = `ci of ${team}`;
      const args = ["create", "--name", name, "--team", team];
      args.push("--budget", budget);
      return (await ctl(gateway, "keys", ...args)).trim();
    };
    const ask = async (key: string) => {
      const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": json, "x-api-key": key },
        body: JSON.stringify({ model: "gpt-4o" }),
      });
      return { status: response.status, body: await response.json() };
    };
    await ctl(gateway, "teams", "create", "red", "--budget", "9requests/hour");
    await ctl(gateway, "teams", "create", "blue", "--budget", "2requests/hour");
    const red = await createKey("red", "5usd/month");
    const blue = await createKey("blue", "9requests/hour");
    assert.deepEqual(await ownersIn(gateway), {});

    assert.equal((await ask(red)).status, 200);
    assert.equal((await ask(blue)).status, 200);
    assert.equal((await ask(blue)).status, 200);
    const { status, body: { error } } = await ask(blue);

    assert.equal(status, 429);
    assert.equal(error.code, "api_key_budget");
    assert.match(
      error.message,
      /^Limit "2 requests per hour, by team" of team blue is used up \(key key_\w+ "ci of blue"\); try again in 3\d{3} s$/,
    );
    const keys = await ctl(gateway, "keys", "list");
    const idOf = (team: string) =>
      new RegExp(`^(key_\\w+) .*\\b${team}\\b`, "m").exec(keys)?.[1] ?? "";
    assert.deepEqual(await ownersIn(gateway), {
      "team red: 9 requests per hour, by team red": [1, 8, 9],
      [`key ${idOf("red")}: 5 USD per month, by key ${idOf("red")}`]: [
        0.0125,
        4.9875,
        5,
      ],
      "team blue: 2 requests per hour, by team blue": [2, 0, 2],
      [`key ${idOf("blue")}: 9 requests per hour, by key ${idOf("blue")}`]: [
        2,
        7,
        9,
      ],
    });
    assert.match(
      await ctl(gateway, "proxy", "limits"),
      /^KV\/keys +2 requests per hour, by team blue +team blue +2 +0 +2 /m,
    );

    // A changed amount takes the place of the old one.
    await ctl(gateway, "teams", "update", "blue", "--budget", "4requests/hour");
    assert.equal((await ask(blue)).status, 200);
    const ofBlue = Object.entries(await ownersIn(gateway)).filter(([owner]) =>
      owner.startsWith("team blue")
    );
    assert.deepEqual(ofBlue, [
      ["team blue: 4 requests per hour, by team blue", [3, 1, 4]],
    ]);

    const name = "4 requests per hour, by team blue";
    assert.equal(
      await ctl(gateway, "proxy", "limits", "reset", "--limit", name),
      "1 budget reset\n",
    );
    const left = Object.keys(await ownersIn(gateway));
    assert.equal(left.length, 3);
    assert(!left.some((owner) => owner.startsWith("team blue")));
  });
}
