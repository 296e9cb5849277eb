/**
 * Takes the pictures of the documentation in Chromium: the web UI of a gateway with some traffic, and a trace in a terminal of tmux.
 * Writes `docs/ui_overview.png`, `docs/ui_trace.png`, `docs/ui_playground.png` and `docs/trace.png`, and
 * those of `traffic_screenshots.ts`.
 */
import type { Page } from "playwright-core";
import { GatewayProcess } from "../../tests/harness/gateway/gateway_process.ts";
import { openUi } from "../../tests/harness/browser/ui_page.ts";
import { saveTraceScreenshot } from "./terminal_screenshot.ts";
import { takeTrafficPictures } from "./traffic_screenshots.ts";

const docs = new URL("../../docs/", import.meta.url).pathname;
const TRAFFIC_MS = 40_000;

async function takeUiPictures(): Promise<void> {
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ jsonrpc: "2.0", id: 1, result: { tools: [] } }),
  );
  await using gateway = await GatewayProcess.start({
    config: configuration(`127.0.0.1:${upstream.addr.port}`),
  });
  await using light = await openUi(`${gateway.admin}/ui`);
  await sendWaves(gateway.origin);
  await save(light.page, "ui_overview.png");
  await using dark = await openUi(`${gateway.admin}/ui/#trace`, {
    colorScheme: "dark",
  });
  await traceOne(dark.page, gateway.origin);
  await save(dark.page, "ui_trace.png");
  await using tested = await openUi(
    `${gateway.admin}/ui/#playground/expression`,
  );
  await tested.page.getByRole("table").waitFor();
  await save(tested.page, "ui_playground.png");
}

function configuration(host: string) {
  return {
    routes: [{
      name: "mcp",
      matches: [{ path: { type: "PathPrefix", value: "/mcp" } }],
      policies: {
        rateLimit: { local: [{ requests: 100_000, unit: "Minutes" }] },
        transformation: {
          request: { set: [{ name: "x-tool", value: "mcp.methodName" }] },
        },
      },
      backends: [{ host }],
    }],
  };
}

/** Sends requests at a changing rate, so that the chart has a shape. */
async function sendWaves(origin: string): Promise<void> {
  const end = performance.now() + TRAFFIC_MS;
  while (performance.now() < end) {
    const count = 4 + 3 * Math.sin(performance.now() / 4000);
    for (let i = 0; i < count; i++) await callTool(origin);
    await (await fetch(`${origin}/${count > 6 ? "nothing" : "mcp"}`)).text();
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

async function traceOne(page: Page, origin: string): Promise<void> {
  await page.getByLabel("Filter (CEL)").fill('request.path == "/mcp"');
  await page.getByRole("button", { name: "Trace" }).click();
  await page.getByText("Waiting").waitFor();
  await callTool(origin);
  await page.getByText("Done").waitFor();
  await page.getByRole("row", { name: "transformation: POST" })
    .getByRole("button").click();
}

async function callTool(origin: string): Promise<void> {
  const response = await fetch(`${origin}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  await response.body?.cancel();
}

async function save(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.setViewportSize({ width: 1100, height: 620 });
  await page.screenshot({ path: docs + name });
}

await saveTraceScreenshot(`${docs}trace.png`);
await takeUiPictures();
await takeTrafficPictures();
// The browser goes on.
Deno.exit();
