import assert from "node:assert/strict";
import { startLlmServer } from "../../../cli/dev/llm_server.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import {
  accessibilityProblems,
  expectQuiet,
  openUi,
  type UiPage,
} from "../../harness/browser/ui_page.ts";

interface Site extends AsyncDisposable {
  readonly gateway: TracedGateway;
  /** Of the gateway. */
  readonly origin: string;
  readonly ui: UiPage;
}

/** The playground of a gateway in front of an MCP server, open and behind a login, and an LLM. */
async function openPlayground(tab: string): Promise<Site> {
  await using opening = new AsyncDisposableStack();
  const mcp = opening.adopt(startMcpServer(), (server) => server.close());
  const llm = opening.adopt(
    startLlmServer({ clock: systemClock }),
    (server) => server.close(),
  );
  const idp = opening.use(await startIdpA({ permissions: ["call:mcp"] }));
  const port = freePort();
  const { routes } = protectedConfig(idp, {
    provider: "IdpA",
    url: `http://localhost:${port}/mcp`,
    upstream: mcp.origin,
    rules: ["'call:mcp' in jwt.permissions"],
    mcp: { clientId: idp.clientId, registration: "Gateway" },
  });
  const gateway = opening.use(
    await startTracedGateway({
      gateways: { default: { port, address: "localhost" } },
      routes: [
        ...(Array.isArray(routes) ? routes : []),
        {
          name: "open",
          matches: [{ path: { type: "PathPrefix", value: "/open/mcp" } }],
          filters: [{
            type: "URLRewrite",
            urlRewrite: {
              path: { type: "ReplaceFullPath", replaceFullPath: "/mcp" },
            },
          }],
          backends: [{ host: new URL(mcp.origin).host }],
        },
        {
          name: "llm",
          matches: [{ path: { type: "PathPrefix", value: "/v1" } }],
          backends: [{ host: new URL(llm.origin).host }],
        },
      ],
    }),
  );
  const ui = opening.use(
    await openUi(`${gateway.admin}/ui/#playground/${tab}`, {
      bypassCSP: true,
    }),
  );
  const open = opening.move();
  return {
    gateway,
    origin: `http://localhost:${port}`,
    ui,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

Deno.test("a tool of an MCP server is called, and the trace of its request shown", async () => {
  await using site = await openPlayground("mcp");
  const { page } = site.ui;

  await page.getByRole("combobox", { name: "Route" })
    .selectOption({ label: "open" });
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("button", { name: "echo", exact: true }).click();
  await page.getByLabel("message").fill("Hello");
  await page.getByRole("button", { name: "Call echo" }).click();
  const result = page.getByRole("region", { name: "Result of the tool" });
  await result.waitFor();
  await page.getByRole("button", { name: "tools/call 200" }).click();
  await page.getByRole("row", { name: /routeSelection.*open/ }).waitFor();
  const problems = await accessibilityProblems(page);
  await page.getByRole("button", { name: "add", exact: true }).click();
  const form = page.getByRole("form", { name: "Arguments of add" });
  await form.getByRole("spinbutton").first().fill("2");
  await form.getByRole("spinbutton").last().fill("3");
  await form.getByRole("button").click();
  await result.getByText("5").waitFor();

  assert.deepEqual(problems, []);
  expectQuiet(site.ui, site.gateway.admin);
});

Deno.test("a login at the identity provider in another tab opens a protected MCP server", async () => {
  await using site = await openPlayground("mcp");
  const { page } = site.ui;

  await page.getByRole("combobox", { name: "Route" })
    .selectOption({ label: "mcp" });
  await page.getByRole("button", { name: "Connect" }).click();
  const link = page.getByRole("link", { name: /^Log in at / });
  await link.waitFor();
  const problems = await accessibilityProblems(page);
  const [tab] = await Promise.all([
    page.context().waitForEvent("page"),
    link.click(),
  ]);
  await tab.getByRole("button", { name: "Log in and allow" }).click();
  await tab.getByText("Back from the login").waitFor();
  await page.getByRole("button", { name: "Call echo" }).waitFor();
  const requests = await page.getByRole("list", { name: "Requests" })
    .getByRole("button").allInnerTexts();

  assert.deepEqual(problems, []);
  assert.deepEqual(requests.reverse(), [
    "initialize 401",
    "resource metadata 200",
    "server metadata 200",
    "register client 201",
    "token 200",
    "initialize 200",
    "notifications/initialized 202",
    "tools/list 200",
  ]);
  assert.doesNotMatch(tab.url(), /code=/);
});

Deno.test("a login that the user denies is reported, and so is one that was not begun here", async () => {
  await using site = await openPlayground("mcp");
  const { page } = site.ui;
  const stray = await page.context().newPage();

  await page.getByRole("combobox", { name: "Route" })
    .selectOption({ label: "mcp" });
  await page.getByRole("button", { name: "Connect" }).click();
  const link = page.getByRole("link", { name: /^Log in at / });
  await link.waitFor();
  await stray.goto(`${site.gateway.admin}/ui/callback?code=stolen&state=none`);
  await stray.getByText("Back from the login").waitFor();
  const [tab] = await Promise.all([
    page.context().waitForEvent("page"),
    link.click(),
  ]);
  await tab.getByRole("button", { name: "Deny" }).click();

  await page.getByText(
    "the login failed: access_denied: The user denied access",
  ).waitFor();
});

Deno.test("a model answers as a stream, calls a tool of the MCP server, and its tokens and cost are shown", async () => {
  await using site = await openPlayground("mcp");
  const { page } = site.ui;
  await page.getByRole("combobox", { name: "Route" })
    .selectOption({ label: "open" });
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("button", { name: "Call echo" }).waitFor();
  await page.getByRole("tab", { name: "LLM chat" }).click();

  await page.getByRole("combobox", { name: "Model" }).fill("gpt-4o");
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("Hello");
  await message.press("Enter");
  await page.getByText("You said: Hello").waitFor();
  await page.locator(".stat", { hasText: /Cost\$0\.0+[1-9]/ }).waitFor();
  const problems = await accessibilityProblems(page);
  await message.fill("add 2 and 3");
  await message.press("Enter");
  await page.getByText("You said: the tool returned").waitFor();
  await page.locator(".stat", { hasText: /Cost\$0\.0+[1-9]/ }).waitFor();
  const talk = await page.getByRole("region", { name: "Conversation" })
    .innerText();

  assert.deepEqual(problems, []);
  assert.match(talk, /add\(\{"a":2,"b":3\}\)/);
  assert.match(talk, /"text":"5"/);
  assert.match(
    await page.locator("dl.stats").innerText(),
    /Input tokens\s+\d+\s+Output tokens\s+\d+\s+Cost\s+\$0\.\d+\s+First token/,
  );
  expectQuiet(site.ui, site.gateway.admin);
});

Deno.test("a model that is not there says why, and so does one without a name", async () => {
  await using site = await openPlayground("llm");
  const { page } = site.ui;

  await page.getByRole("textbox", { name: "URL" })
    .fill("http://localhost/nothing");
  const message = page.getByRole("textbox", { name: "Message" });
  await message.fill("Hello");
  await message.press("Enter");
  await page.getByText("The model is empty: enter its name.").waitFor();
  await page.getByRole("combobox", { name: "Model" }).fill("gpt-4o");
  await message.press("Enter");

  await page.getByText(/^status 404/).waitFor();
});

Deno.test("the models that the route's backend has names for are offered, and one is required", async () => {
  await using gateway = await startTracedGateway({
    backends: [{
      name: "named",
      llm: { provider: "OpenAI", aliases: { fast: "gpt-4o-mini" } },
    }],
    routes: [{ name: "chat", backends: [{ backend: "named" }] }],
  });
  await using ui = await openUi(`${gateway.admin}/ui/#playground/llm`);
  const model = ui.page.getByRole("combobox", { name: "Model" });

  await ui.page.locator('datalist option[value="fast"]').waitFor({
    state: "attached",
  });
  assert.equal(await model.getAttribute("placeholder"), "fast");
  assert.equal(await model.getAttribute("required"), "");
});

Deno.test("an expression has the value of each part, for a written request and for one that failed", async () => {
  await using site = await openPlayground("expression");
  const { page } = site.ui;
  const table = page.getByRole("table");
  await (await fetch(`${site.origin}/nothing`)).text();

  await table.getByRole("row", {
    name: '"editor" in jwt.roles true',
    exact: true,
  })
    .waitFor();
  const problems = await accessibilityProblems(page);
  await page.getByRole("textbox", { name: "Expression" }).fill(
    "request.pth == '/nothing'",
  );
  await page.getByText('unknown field of request "pth" at column 9').waitFor();
  await page.getByRole("textbox", { name: "Expression" }).fill(
    "request.path == '/nothing'",
  );
  await table.getByRole("row", { name: 'request.path "/mcp"', exact: true })
    .waitFor();
  await page.reload();
  await page.getByRole("combobox", { name: /failed request/ })
    .selectOption({ label: "GET /nothing → 404" });
  await page.getByRole("textbox", { name: "Expression" }).fill(
    "request.path == '/nothing'",
  );
  await table.getByRole("row", { name: 'request.path "/nothing"', exact: true })
    .waitFor();

  assert.deepEqual(problems, []);
  expectQuiet(site.ui, site.gateway.admin);
});

Deno.test("an expression is tested with a request of a trace", async () => {
  await using site = await openPlayground("mcp");
  const { page } = site.ui;
  await (await fetch(`${site.origin}/nothing`)).text();

  await page.getByRole("link", { name: "Failures", exact: true }).click();
  await page.getByRole("link", { name: /nothing/ }).click();
  await page.getByRole("button", { name: "requestSnapshot" }).first().click();
  await page.getByRole("link", { name: "Test an expression" }).click();
  await page.getByRole("textbox", { name: "Expression" }).fill(
    "request.method == 'GET'",
  );
  await page.getByRole("row", { name: 'request.method "GET"', exact: true })
    .waitFor();

  assert.match(
    await page.getByRole("textbox", { name: "Variables" }).inputValue(),
    /"path": "\/nothing"/,
  );
  expectQuiet(site.ui, site.gateway.admin);
});
