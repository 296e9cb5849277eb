/** Takes the pictures of the pages Traffic and Requests: writes `docs/ui_traffic.png` and `docs/ui_requests.png`. */
import type { Page } from "playwright-core";
import { startLlmServer } from "../../cli/dev/llm_server.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../tests/harness/gateway/traced_gateway.ts";
import { openUi } from "../../tests/harness/browser/ui_page.ts";

const docs = new URL("../../docs/", import.meta.url).pathname;
const REAL_MS = 40_000;
const SHOWN_MS = 15 * 60_000;
const users = ["anna", "ben", "carla", "data-team"];
const models = ["gpt-4o-mini", "gpt-4o", "o3-mini"];

/** Takes both pictures. */
export async function takeTrafficPictures(): Promise<void> {
  const llm = startLlmServer();
  await using _ = { [Symbol.asyncDispose]: () => llm.close() };
  await using tools = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    callTool,
  );
  const clock = fastClock();
  await using gateway = await startTracedGateway(
    configuration(new URL(llm.origin).host, `127.0.0.1:${tools.addr.port}`),
    { clock },
  );
  await sendTraffic(gateway, clock);
  await using light = await openUi(`${gateway.admin}/ui/#traffic`);
  await light.page.getByRole("table", { name: "Traffic by route" }).waitFor();
  await save(light.page, "ui_traffic.png");
  await using dark = await openUi(
    `${gateway.admin}/ui/#requests/status=failed`,
    {
      colorScheme: "dark",
    },
  );
  await dark.page.getByRole("option", { name: "503" }).first().click();
  await dark.page.getByText("Recorded steps").waitFor();
  await save(dark.page, "ui_requests.png");
}

/** Returns a clock on which the time of the traffic fills the chart; it ends at the present. */
function fastClock(): Clock {
  const start = Date.now();
  const now = () => {
    const left = Math.max(0, start + REAL_MS - Date.now());
    return Date.now() - left * (SHOWN_MS / REAL_MS - 1);
  };
  return { ...systemClock, now };
}

async function callTool(): Promise<Response> {
  await new Promise((done) => setTimeout(done, 4 + 60 * Math.random() ** 5));
  return Math.random() < 0.01
    ? new Response("busy", { status: 503 })
    : Response.json({ jsonrpc: "2.0", id: 1, result: {} });
}

function configuration(llm: string, tools: string) {
  const at = (value: string) => [{ path: { type: "PathPrefix", value } }];
  const keys = users.map((user) => ({
    key: `key-of-${user}`,
    metadata: { user },
  }));
  return {
    routes: [
      { name: "tools", matches: at("/mcp"), backends: [{ host: tools }] },
      { name: "catalog", matches: at("/catalog"), backends: [{ host: tools }] },
      {
        name: "chat",
        matches: at("/v1"),
        backends: [{ host: llm }],
        policies: { apiKeyAuthentication: { keys } },
      },
    ],
  };
}

/** Sends requests at a changing rate until the clock has nearly reached the present. */
async function sendTraffic(
  { origin }: TracedGateway,
  clock: Clock,
): Promise<void> {
  const start = performance.now();
  const get = async (path: string, init?: RequestInit) =>
    await (await fetch(origin + path, init)).text();
  for (let round = 0; clock.now() < Date.now() - 20_000; round++) {
    const wave = 2 + Math.sin((performance.now() - start) / 5000);
    const count = Math.round(2 * wave);
    await Promise.all([
      ...Array.from({ length: count }, () => get("/mcp", { method: "POST" })),
      ...Array.from({ length: count }, (_, at) => get(`/catalog/${at}`)),
      ...round % 3 === 0 ? [] : [get(...chat())],
      ...round % 40 < 3 ? [get("/admin.php")] : [],
    ]);
    await new Promise((done) => setTimeout(done, 25));
  }
}

function chat(): [path: string, init: RequestInit] {
  const pick = (names: readonly string[]) =>
    names[Math.floor(Math.random() ** 2 * names.length)];
  return ["/v1/chat/completions", {
    method: "POST",
    headers: {
      authorization: `Bearer key-of-${pick(users)}`,
      "content-type": "application/json",
      "x-playground-delay-ms": String(Math.round(80 * Math.random())),
    },
    body: JSON.stringify({
      model: pick(models),
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: "user", content: "Tell me a story. ".repeat(30) }],
    }),
  }];
}

async function save(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.screenshot({ path: docs + name });
}

if (import.meta.main) await takeTrafficPictures();
