import assert from "node:assert/strict";
import { usageRows } from "../../harness/gateway/usage_rows.ts";
import { fetchRaw } from "../../harness/clients/fetch_raw.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import { LlmUpstream } from "../../harness/llm/llm_upstream.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

const REQUESTS = 12;
const usage = { prompt_tokens: 5, completion_tokens: 5 };

type Report = (gateway: TestGateway) => Promise<number>;

/** Each counts the requests so far. */
const reports: Readonly<Record<string, Report>> = {
  async usage({ gateway: { dataPlane } }) {
    const rows = await usageRows(dataPlane);
    return rows.reduce((sum, row) => sum + row.requests, 0);
  },
  async limits({ gateway: { dataPlane } }) {
    const { budgets: [budget] } = await dataPlane.call("describeState");
    return (1000 - (budget?.remaining ?? 0)) / 10;
  },
  async traffic({ gateway: { dataPlane } }) {
    const report = await dataPlane.call("traffic", {
      range: "15m",
      by: "route",
    });
    return report.figures.requests;
  },
  async "the log of requests"({ gateway: { dataPlane } }) {
    return (await dataPlane.call("requests", { limit: 100 })).successes;
  },
  "metrics of requests": (gateway) =>
    sumOf(gateway, /^gateway_requests_total\{[^}]*route="llm"[^}]*\} (\d+)$/gm),
  "metrics of limits": async (gateway) =>
    await sumOf(gateway, /^gateway_rate_limit_tokens_total\{[^}]*\} (\d+)$/gm) /
    10,
};

async function sumOf({ gateway }: TestGateway, line: RegExp): Promise<number> {
  const metrics = await gateway.dataPlane.call("collectMetrics");
  return metrics.matchAll(line).reduce((sum, [, n]) => sum + Number(n), 0);
}

for (const workers of [1, 2]) {
  for (const coding of [undefined, "gzip"] as const) {
    Deno.test(`${workers} worker(s) report ${coding ?? "plain"} responses as soon as the client has them`, async () => {
      await using upstream = await LlmUpstream.start(() => ({
        contentType: json,
        body: bytesOf(JSON.stringify({ usage, text: "x".repeat(200_000) })),
        ...(coding && { coding }),
      }));
      await using gateway = await startTestGateway({
        config: { workers },
        routes: [{
          name: "llm",
          backends: upstream.backends,
          policies: {
            rateLimit: { local: [{ tokens: 1000, unit: "Days" }] },
          },
        }],
      });
      let sent = 0;
      for (const [name, report] of Object.entries(reports)) {
        await Promise.all(Array.from({ length: REQUESTS }, () => ask(gateway)));
        sent += REQUESTS;
        assert.equal(await report(gateway), sent, name);
      }
    });
  }
}

async function ask({ origin }: TestGateway): Promise<void> {
  const { status } = await fetchRaw(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": json },
    body: '{"model":"gpt-4o","messages":[]}',
  });
  assert.equal(status, 200);
}
