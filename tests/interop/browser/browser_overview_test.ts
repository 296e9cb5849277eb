/** The overview, and who is connected. */
import assert from "node:assert/strict";
import {
  accessibilityProblems,
  openUi,
  showView,
} from "../../harness/browser/ui_page.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";

const apiKeyAuthentication = {
  keys: [{ key: "key-of-blue", metadata: { team: "blue" } }],
};

/** Serves `/slow`, whose response does not end, and fails everything else. */
function startBackend() {
  const first = new TextEncoder().encode("first");
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ url }) =>
      url.endsWith("/slow")
        ? new Response(
          new ReadableStream({ start: (body) => body.enqueue(first) }),
        )
        : new Response("no", { status: 500 }),
  );
  return {
    host: `127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("the overview begins with history, used up budgets, failing backends and causes; connections say who is there", async () => {
  await using backend = startBackend();
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{
        name: "tools",
        policies: {
          apiKeyAuthentication,
          rateLimit: {
            local: [
              { requests: 100, unit: "Hours" },
              { requests: 4, unit: "Days", key: "apiKey.team" },
            ],
          },
        },
        backends: [{ host: backend.host }],
      }],
    },
  });
  const leaving = new AbortController();
  const ask = async (path: string) => {
    const response = await fetch(gateway.origin + path, {
      headers: { "x-api-key": "key-of-blue" },
      signal: leaving.signal,
    });
    if (path === "/slow") return response;
    await response.body?.cancel();
    return response;
  };
  for (let i = 0; i < 3; i++) await ask("/a");
  const slow = await ask("/slow");
  await ask("/b");
  await using ui = await openUi(`${gateway.admin}/ui/#overview`, {
    bypassCSP: true,
  });
  const { page } = ui;

  const row = (table: string) =>
    page.getByRole("table", { name: table }).getByRole("row").nth(1);
  await row("Budgets").getByText("used up").waitFor();
  const budget = await row("Budgets").innerText();
  assert.match(budget, /^4 requests per day, by apiKey.team/);
  await row("Failing backends").getByText("100 %").waitFor();
  assert.match(await row("Failures by cause").innerText(), /returned 500/);
  await page.getByText("Of the last 15 minutes.").waitFor();
  const problems = await accessibilityProblems(page);
  await showView(page, "Connections");
  await row("Connections of clients").getByText("team=blue").waitFor();
  problems.push(...await accessibilityProblems(page));
  const { stdout } = await gatewayCommand({
    args: [
      "ctl",
      "proxy",
      "connections",
      "--admin",
      new URL(gateway.admin).host,
    ],
  }).output();
  const listed = new TextDecoder().decode(stdout);

  assert.deepEqual(problems, []);
  assert.match(
    listed,
    / team=blue .* GET 127\.0\.0\.1:\d+\/slow \(response\)\n/,
  );
  assert.equal(slow.status, 200);
  leaving.abort();
  await slow.body?.cancel().catch(() => {});
});
