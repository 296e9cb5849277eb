import assert from "node:assert/strict";
import { openTokenBudget } from "../../harness/llm/token_budget.ts";
import { bytesOf, json } from "../../unit/llm/llm_responses.ts";

const usage = { inputTokens: 20, outputTokens: 5 };

for (
  const [what, answer, model] of [
    ["names none", { usage }, "us.amazon.nova-lite-v1:0"],
    ["names another", { usage, model: "nova-lite" }, "nova-lite"],
  ] as const
) {
  Deno.test(`an answer that ${what} counts for the model ${model}`, async () => {
    await using limited = await openTokenBudget({
      contentType: json,
      body: bytesOf(JSON.stringify(answer)),
    });

    const response = await fetch(
      `${limited.origin}/model/us.amazon.nova-lite-v1%3A0/converse`,
      { method: "POST", body: "{}" },
    );
    await response.body?.cancel();
    await limited.charged(25);
    await limited.finished(1);

    const metrics = await limited.gateway.gateway.dataPlane.call(
      "collectMetrics",
    );
    assert.ok(metrics.includes(`model="${model}",type="input"} 20`), metrics);
    assert.ok(
      limited.gateway.accessLog.join("").includes(
        `gen_ai.response.model=${model} `,
      ),
    );
  });
}
