import assert from "node:assert/strict";
import type { BrowserContextOptions } from "playwright-core";
import { startLlmServer } from "../../../cli/dev/llm_server.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { GatewayProcess } from "../gateway/gateway_process.ts";
import { openUi, type UiPage } from "./ui_page.ts";

const ADMIN_TOKEN = "0123456789abcdef";
const SLOW_MS = 300;

/** A gateway as a platform team has one: teams with keys in a store, models, tools, a slow backend and one that fails, and traffic. */
export interface TeamSite extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  /** Opens the web UI, logged in, at a fragment such as `#overview`. */
  open(fragment: string, options?: BrowserContextOptions): Promise<UiPage>;
}

/** Starts the servers and the gateway, creates teams `red` and `blue` with a key each, and sends requests. */
export async function startTeamSite(): Promise<TeamSite> {
  await using servers = new AsyncDisposableStack();
  const llm = servers.adopt(
    startLlmServer({ clock: systemClock }),
    (server) => server.close(),
  );
  const mcp = servers.adopt(startMcpServer(), (server) => server.close());
  const slow = servers.use(serve(async () => {
    await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    return new Response("slow");
  }));
  const failing = servers.use(
    serve(() => new Response("busy", { status: 503 })),
  );
  const kv = await Deno.makeTempDir();
  servers.defer(() => Deno.remove(kv, { recursive: true }));
  const gateway = servers.use(
    await GatewayProcess.start({
      config: {
        config: { adminToken: ADMIN_TOKEN, kv: { path: `${kv}/kv.db` } },
        routes: routesTo({
          llm: new URL(llm.origin).host,
          mcp: mcp.origin,
          slow: hostOf(slow),
          failing: hostOf(failing),
        }),
      },
    }),
  );
  await fill(gateway);
  const owned = servers.move();
  return {
    gateway,
    open: (fragment, options) => openAt(gateway, fragment, options),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function serve(
  handler: () => Response | Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    handler,
  );
}

function hostOf({ addr }: Deno.HttpServer<Deno.NetAddr>): string {
  return `127.0.0.1:${addr.port}`;
}

interface Hosts {
  readonly llm: string;
  /** An origin. */
  readonly mcp: string;
  readonly slow: string;
  readonly failing: string;
}

function routesTo({ llm, mcp, slow, failing }: Hosts) {
  const at = (value: string) => [{ path: { type: "PathPrefix", value } }];
  const limited = {
    rateLimit: { local: [{ requests: 100, unit: "Hours" }] },
  };
  return [
    {
      name: "models",
      matches: at("/v1"),
      backends: [{
        llm: {
          provider: "OpenAICompatible",
          host: llm,
          plainText: true,
          credentials: { key: "of-the-provider" },
        },
      }],
      policies: { apiKeyAuthentication: { stored: true } },
    },
    {
      name: "tools",
      matches: at("/mcp"),
      backends: [{ mcp: { servers: [{ name: "demo", url: `${mcp}/mcp` }] } }],
    },
    { name: "reports", matches: at("/reports"), backends: [{ host: slow }] },
    {
      name: "legacy",
      matches: at("/legacy"),
      backends: [{ host: failing }],
      policies: limited,
    },
    {
      name: "admins",
      matches: at("/admins"),
      policies: {
        authorization: {
          policy: { matchExpressions: ["request.method == 'PUT'"] },
        },
        directResponse: { status: 200 },
      },
    },
  ];
}

async function fill({ admin, origin }: GatewayProcess): Promise<void> {
  const create = async (kind: string, fields: object) => {
    const response = await fetch(`${admin}/access/${kind}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(fields),
    });
    const text = await response.text();
    assert(response.ok, text);
    return String(JSON.parse(text).secret ?? "");
  };
  const budgets = [{ tokens: 1000, unit: "Months" }];
  await create("teams", { id: "red", budgets });
  await create("teams", { id: "blue" });
  const red = await create("keys", { id: "ci-bot", team: "red" });
  const blue = await create("keys", {
    id: "search",
    team: "blue",
    allow: { models: ["gpt-4o"] },
  });
  const chats = [[red, "gpt-4o"], [red, "gpt-4o-mini"], [red, "gpt-4o"]];
  for (const [key = "", model] of [...chats, [blue, "gpt-4o"], [blue, "o1"]]) {
    await send(`${origin}/v1/chat/completions`, key, {
      model,
      messages: [{ role: "user", content: "Hello" }],
    });
  }
  await send(`${origin}/mcp`, "", {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "site", version: "1" },
    },
  });
  for (const path of ["/reports", "/reports", "/legacy", "/admins"]) {
    await (await fetch(origin + path)).text();
  }
}

async function send(url: string, key: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      ...key !== "" && { authorization: `Bearer ${key}` },
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  await response.text();
}

async function openAt(
  { admin }: GatewayProcess,
  fragment: string,
  options: BrowserContextOptions = {},
): Promise<UiPage> {
  const ui = await openUi(`${admin}/ui/${fragment}`, options);
  await ui.page.getByRole("dialog").getByLabel("Token").fill(ADMIN_TOKEN);
  await ui.page.keyboard.press("Enter");
  await ui.page.getByRole("heading", { level: 1 }).waitFor();
  return ui;
}
