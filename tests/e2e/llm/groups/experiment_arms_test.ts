import assert from "node:assert/strict";
import { answerChat } from "../../../harness/llm/chat_answers.ts";
import { chat } from "../../../harness/llm/model_group.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";
import { startTracedGateway } from "../../../harness/gateway/traced_gateway.ts";
import { armsTable } from "../../../../cli/ctl/arms.ts";

/** Starts a route with two arms, of which one fails, and a mirror. */
async function startArms() {
  await using opening = new AsyncDisposableStack();
  const live = opening.use(startProvider(answerChat));
  const failing = opening.use(
    startProvider(() => Response.json({}, { status: 400 })),
  );
  const llm = (host: string, model: string) => ({
    ...{ provider: "OpenAI", host, plainText: true, model },
  });
  const gateway = opening.use(
    await startTracedGateway({
      routes: [{
        name: "chat",
        filters: [{
          type: "RequestMirror",
          requestMirror: { backendRef: { name: "shadow" } },
        }],
        backends: [{ backend: "control" }, { backend: "variant" }],
      }],
      backends: [
        { name: "control", llm: llm(live.host, "gpt-4o") },
        { name: "variant", llm: llm(failing.host, "gpt-4o-mini") },
        { name: "shadow", llm: llm(live.host, "gpt-4o") },
      ],
    }),
  );
  const open = opening.move();
  return { gateway, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** Waits until all requests and copies are counted. */
async function trafficOf(admin: string, requests: number) {
  for (;;) {
    const response = await fetch(`${admin}/traffic?by=arm`);
    const traffic = await response.json();
    const sum = traffic.rows.reduce(
      (sum: number, row: { requests: number }) => sum + row.requests,
      0,
    );
    if (sum === requests) return traffic;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

Deno.test("arms of an experiment and mirrors have errors, latency, tokens and cost of their own", async () => {
  await using site = await startArms();
  for (let request = 0; request < 4; request++) {
    const response = await chat(site.gateway, {});
    await response.text();
  }
  const { rows, figures } = await trafficOf(site.gateway.admin, 8);

  type Row = Readonly<Record<string, number | string | null>>;
  const arms = new Map<unknown, Row>(
    rows.map((row: Row) => [row["name"], row]),
  );
  const [control, variant, shadow] = [
    "chat: control",
    "chat: variant",
    "chat: shadow (mirror)",
  ].map((name) => arms.get(name) ?? {});
  assert.equal(figures.requests, 4);
  assert.equal(variant?.["clientErrors"], variant?.["requests"]);
  assert.equal(variant?.["costUsd"], 0);
  assert.equal(control?.["clientErrors"], 0);
  assert.ok(Number(control?.["costUsd"]) > 0);
  assert.equal(shadow?.["requests"], 4);
  // The first four requests are split in halves, or one and three.
  const cost = Number(control?.["costUsd"]) / Number(control?.["requests"]);
  assert.ok(Math.abs(Number(shadow?.["costUsd"]) - 4 * cost) < 1e-9);
  assert.ok(Number(shadow?.["p50"]) > 0);

  const table = armsTable({ rows }, { route: "chat" });
  assert.match(table, /chat: shadow \(mirror\) +4 +0\.0% +0\.0% +\d+ms/);
  assert.match(
    table,
    new RegExp(`chat: variant +${variant?.["requests"]} +100\\.0%`),
  );
  assert.equal(armsTable({ rows }, { route: "other" }), "No requests\n");
});
