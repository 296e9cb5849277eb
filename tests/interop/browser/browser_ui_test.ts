import { VERSION } from "../../../src/base/version.ts";
import assert from "node:assert/strict";
import type { Route } from "playwright-core";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { until } from "../../harness/servers/held_upstream.ts";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import { startUiGateway, uiUser } from "../../harness/browser/ui_gateway.ts";
import { longestTask } from "../../harness/browser/page_tasks.ts";
import {
  accessibilityProblems,
  expectQuiet,
  openUi,
  showView,
  views,
} from "../../harness/browser/ui_page.ts";

const hello = {
  name: "hello",
  matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
  filters: [{
    type: "RequestHeaderModifier",
    requestHeaderModifier: { set: [{ name: "x-team", value: "blue" }] },
  }],
  policies: {
    directResponse: { status: 200, body: "Hello" },
    rateLimit: { local: [{ requests: 5, unit: "Hours" }] },
  },
};

async function get(url: string): Promise<void> {
  await (await fetch(url)).text();
}

Deno.test("overview shows version, configuration and traffic", async () => {
  await using gateway = await GatewayProcess.start({
    config: { routes: [hello] },
  });
  await using ui = await openUi(`${gateway.admin}/ui`);

  const facts = ui.page.getByRole("main");
  await facts.getByText("per second").first().waitFor();
  await get(`${gateway.origin}/hello`);
  await facts.locator(".stat", { hasText: /^Total requests1/ }).waitFor();

  const text = await facts.innerText();
  assert.match(text, new RegExp(`Version\\s+${RegExp.escape(VERSION)}`));
  assert.match(text, /Readiness\s+ready/);
  assert.match(text, /Configuration\s+[0-9a-f]{12}/);
  assert.match(text, /Total requests\s+1\s+in [0-9]+ s/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("overview shows a reload that is rejected with its place, on every view that there was one, and when it is over", async () => {
  await using gateway = await GatewayProcess.start({
    config: { routes: [hello] },
  });
  await using ui = await openUi(`${gateway.admin}/ui`, { bypassCSP: true });
  const { page } = ui;
  const good = configFor(gateway.port, { routes: [hello] });

  await page.getByText("The latest configuration is active").waitFor();
  await replaceFile(gateway.file, { ...good, routes: [{ nmae: "x" }] });
  await page.getByText('unknown field "nmae"').or(page.getByText("nmae"))
    .first().waitFor();
  const text = await page.getByRole("region", { name: "Diagnostics" })
    .innerText();
  const problems = await accessibilityProblems(page);
  await showView(page, "Limits");
  await page.getByRole("alert").getByText("was rejected").waitFor();
  await replaceFile(gateway.file, { ...good, routes: [hello, hello].slice(1) });
  await page.getByRole("alert").getByText("was rejected").waitFor({
    state: "detached",
  });

  assert.deepEqual(problems, []);
  assert.match(text, /gateway\.yaml:1:[0-9]+: error: routes\[0\]\.nmae/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a real request is traced live, with what each snapshot changed", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#trace`);
  const { page } = ui;

  await page.getByLabel("Filter (CEL)").fill('request.path == "/hello"');
  await page.getByRole("spinbutton", { name: "Requests" }).fill("2");
  await page.getByRole("button", { name: "Trace" }).click();
  await page.getByText("Waiting for matching requests.").waitFor();
  await get(`${gateway.origin}/other`);
  await get(`${gateway.origin}/hello?first`);
  await page.getByRole("button", { name: "GET /hello?first → 200" }).waitFor();
  await get(`${gateway.origin}/hello?second`);
  await page.getByText("Done: 2 requests traced.").waitFor();
  await page.getByRole("row", { name: /request header modifier/ })
    .getByRole("button").first().click();
  const event = page.getByRole("region", { name: "Event", exact: true });
  const changes = await event.getByRole("table").innerText();

  assert.equal(
    await page.getByRole("listitem").filter({ hasText: "GET /" }).count(),
    2,
  );
  assert.match(changes, /request\.headers\.x-team\s+absent\s+blue/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a filter that is not an expression is rejected with the reason, and the next one works", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#trace`);
  const { page } = ui;

  await page.getByLabel("Filter (CEL)").fill("request.pth ==");
  await page.getByRole("button", { name: "Trace" }).click();
  const problem = page.getByText("invalid filter:");
  await problem.waitFor();
  assert.doesNotMatch(await problem.innerText(), /usage|GET/);
  await page.getByLabel("Filter (CEL)").fill("");
  await page.getByRole("button", { name: "Trace" }).click();
  await page.getByText("Waiting").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();

  await page.getByText("Stopped: 0 requests traced.").waitFor();
});

Deno.test("failures are listed with their cause, and each with its report and trace", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#failures`);
  const { page } = ui;

  await page.getByText("No recent failures").waitFor();
  await get(`${gateway.origin}/nothing`);
  await page.getByRole("link", { name: /GET .*\/nothing/ }).click();
  const report = page.getByRole("region", { name: "Report" });
  await report.getByText("route_not_found").first().waitFor();
  await report.getByRole("button", { name: "requestFinished" }).click();

  assert.match(await report.innerText(), /Why GET .*\/nothing failed/);
  assert.match(await report.innerText(), /No route matches GET \/nothing/);
  assert.match(await report.innerText(), /"status": 404/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a failure that is opened by a link is marked in the list", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await get(`${gateway.origin}/one`);
  await get(`${gateway.origin}/two`);
  await using ui = await openUi(`${gateway.admin}/ui/#failures`);
  const { page } = ui;
  await page.getByRole("link", { name: /\/one/ }).click();
  await page.getByRole("heading", { name: /Why GET .*\/one failed/ }).waitFor();

  await page.reload();
  const marked = page.locator("tr[aria-current]");
  await marked.waitFor();

  assert.match(await marked.innerText(), /\/one/);
  assert.equal(await marked.count(), 1);
  expectQuiet(ui, gateway.admin);
});

Deno.test("the filters of requests fit into one row at 1280 pixels, and the page says what it records", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await get(`${gateway.origin}/hello`);
  await using ui = await openUi(`${gateway.admin}/ui/#requests`);
  const { page } = ui;
  await page.getByText("So far, every success was recorded.").waitFor();
  await page.getByText("failures, and up to 50 successes per second")
    .waitFor();

  const bottoms = await page.evaluate<number[]>(
    "Array.from(document.querySelector('form').children, (each) => each.getBoundingClientRect().bottom)",
  );

  assert.equal(bottoms.length, 6);
  assert.equal(new Set(bottoms).size, 1);
});

Deno.test("the list of failures stays as it is while the pointer is on it, and is as long as the page", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  for (let i = 0; i < 60; i++) await get(`${gateway.origin}/old/${i}`);
  await using ui = await openUi(`${gateway.admin}/ui/#failures`);
  const { page } = ui;

  await page.getByRole("link", { name: /old\/59/ }).hover();
  for (let i = 0; i < 3; i++) await get(`${gateway.origin}/new`);
  await page.getByText("3 newer").waitFor();
  await page.mouse.down();
  await page.mouse.up();
  await page.getByRole("heading", { name: /Why GET .*\/old\/59 failed/ })
    .waitFor();
  await showView(page, "Overview");
  await showView(page, "Failures");
  await page.getByRole("link", { name: /new/ }).first().waitFor();
  const clipped = await page.evaluate(
    "(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('main .scroll'))",
  );

  assert.equal(clipped, 0);
  expectQuiet(ui, gateway.admin);
});

Deno.test("an event is selected by a click anywhere in its row, and has no time where none was recorded", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await get(`${gateway.origin}/nothing`);
  await using ui = await openUi(`${gateway.admin}/ui/#failures`);
  const { page } = ui;

  await page.getByRole("link", { name: /nothing/ }).click();
  const row = page.getByRole("row", { name: /^routeSelection/ });
  await row.getByRole("cell").last().click();
  await page.getByRole("heading", { level: 3, name: "routeSelection" })
    .waitFor();

  assert.equal(await row.getByRole("cell").first().innerText(), "–");
});

Deno.test("the chart of requests has axes, and says what is under the pointer", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui`);
  const chart = ui.page.getByRole("img", {
    name: /over the last 15 minutes/,
  });

  await chart.locator("canvas").waitFor();
  await chart.locator(".u-over").hover();

  assert.match(await chart.innerText(), /Time.*Requests.*4xx.*5xx/s);
  expectQuiet(ui, gateway.admin);
});

Deno.test("requests rejected before they were parsed are listed as well", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#failures`);
  const { page } = ui;
  using connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: gateway.port,
  });

  await connection.write(new TextEncoder().encode("no HTTP\r\n\r\n"));
  await new Response(connection.readable).text();
  await page.getByRole("link", { name: "refused-1" }).click();
  await page.getByRole("heading", { name: "Why refused-1 failed" }).waitFor();

  const started = page.getByRole("row", { name: /^requestStarted/ });
  assert.equal(await started.getByRole("cell").first().innerText(), "–");
  expectQuiet(ui, gateway.admin);
});

for (const address of ["nothing/%", "constructor"]) {
  Deno.test(`an address that is not a view, ${address}, shows the overview`, async () => {
    await using gateway = await startTracedGateway({ routes: [hello] });
    await using ui = await openUi(`${gateway.admin}/ui/#${address}`);

    await ui.page.getByRole("heading", { level: 1, name: "Overview" })
      .waitFor();
    expectQuiet(ui, gateway.admin);
  });
}

Deno.test("a budget's bar moves with the requests", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#limits`);
  const meter = ui.page.getByRole("meter", {
    name: "5 requests per hour of HTTPRoute/default/hello",
  });
  const width = async () => (await meter.locator("span").boundingBox())?.width;

  await meter.waitFor();
  const full = await width();
  for (let i = 0; i < 4; i++) await get(`${gateway.origin}/hello`);
  await ui.page.getByText(/^1 of 5 requests left; resets in/).waitFor();
  await ui.page.evaluate(
    "Promise.all(document.querySelector('.bar > span').getAnimations().map(({ finished }) => finished))",
  );

  assert.equal(await meter.getAttribute("aria-valuenow"), "1");
  assert.equal(Math.round((await width() ?? 0) / (full ?? 1) * 10), 2);
  expectQuiet(ui, gateway.admin);
});

Deno.test("keys that cannot be fetched show their error, and metadata that nobody needed yet says so", async () => {
  await using gateway = await startTracedGateway({
    backends: [{ name: "idp", static: { host: "127.0.0.1", port: 9 } }],
    routes: [{
      ...hello,
      policies: {
        directResponse: { status: 200 },
        jwtAuthentication: {
          providers: [{
            issuer: "https://idp.example.com/",
            audiences: ["a"],
            jwks: {
              remote: { backendRef: { name: "idp" }, jwksPath: "/keys.json" },
            },
          }],
          mcp: { provider: "IdpA" },
        },
      },
    }],
  });
  await using ui = await openUi(`${gateway.admin}/ui/#keys`);

  await ui.page.getByRole("heading", { name: "http://127.0.0.1:9/keys.json" })
    .waitFor();
  await ui.page.getByText("Last error:").waitFor();
  await ui.page.getByRole("heading", {
    name: /^https:\/\/idp\.example\.com\/\.well-known/,
  }).waitFor();
  await ui.page.getByText("Not fetched yet").waitFor();
  expectQuiet(ui, gateway.admin);
});

Deno.test("log level that is set on the page is in force", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#logging`);
  const { page } = ui;

  await page.getByRole("combobox").selectOption("warn");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await page.getByRole("row", { name: "(default) warn" }).waitFor();
  await page.getByRole("combobox").selectOption("debug");
  await page.getByLabel("Module").fill("proxy");
  await page.getByRole("button", { name: "Set", exact: true }).click();
  await page.getByRole("row", { name: "proxy debug" }).waitFor();
  const asked = await (await fetch(`${gateway.admin}/logging`)).text();
  await page.getByRole("button", { name: "Reset to configuration" })
    .click();
  await page.getByRole("row", { name: "(default) trace" }).waitFor();

  assert.equal(asked, "current log level is warn,proxy=debug\n");
  expectQuiet(ui, gateway.admin);
});

Deno.test("a profile is shown as a flame graph that can be looked into, and as a table", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#profiles`);
  const { page } = ui;
  const asking = new AbortController();
  const load = (async () => {
    while (!asking.signal.aborted) await get(`${gateway.origin}/hello`);
  })();

  await page.getByLabel("Seconds").fill("1");
  await page.getByRole("button", { name: "CPU profile" }).click();
  await page.getByText(/^Done: [0-9]+ stacks/).waitFor();
  asking.abort();
  await load;
  const graph = page.getByRole("region", { name: "Flame graph" });
  const calls = await graph.getByRole("button").count();
  await graph.getByRole("button").nth(2).click();
  const zoomed = await graph.getByRole("status").innerText();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  // The caller that is zoomed into is another call.
  await graph.getByRole("status").filter({ hasNotText: zoomed }).waitFor();

  assert(calls > 10);
  assert.match(zoomed, /: [0-9.,]+ ms, [0-9.]+ %$/);
  assert.match(
    await page.getByRole("table").innerText(),
    /Function\s+Self\s+Total/,
  );
  expectQuiet(ui, gateway.admin);
});

Deno.test("a thousand routes are shown at once, found by name, walked through by keyboard and joined with their backends", async () => {
  const routes = Array.from({ length: 1000 }, (_, index) => ({
    name: `route-${index}`,
    matches: [{ path: { type: "PathPrefix", value: `/r/${index}` } }],
    backends: [{ host: `127.0.0.1:${10_000 + index}` }],
  }));
  await using gateway = await startTracedGateway({ routes });
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;
  const list = page.getByRole("listbox", { name: "Routes" });

  await showView(page, "Topology");
  await list.getByRole("option").first().waitFor();
  const rows = await page.getByRole("option").count();
  await list.focus();
  await page.keyboard.press("End");
  await list.getByRole("option", { name: /route-999/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("1 of 1000 routes").waitFor();
  const backend = page.getByRole("listbox", { name: "Backends" })
    .getByRole("option");
  // Lines are drawn in a frame after the rows.
  await until(async () => await page.locator(".lines path").count() === 3);

  assert(rows < 150, `${rows} rows`);
  assert.deepEqual(await backend.allInnerTexts(), [
    "route-999/backend0\n127.0.0.1:10999",
  ]);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("searchbox").fill("/r/42");
  await page.getByText("11 of 1000 routes").waitFor();
  expectQuiet(ui, gateway.admin);
});

Deno.test("a route leads to the trace of its requests", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#topology`);
  const { page } = ui;

  await page.getByRole("option", { name: /hello/ }).first().click();
  await page.getByRole("link", { name: "Trace requests" }).click();

  assert.equal(
    await page.getByLabel("Filter (CEL)").inputValue(),
    'request.path.startsWith("/hello")',
  );
});

Deno.test("the topology of five thousand routes stays fluid", async () => {
  const routes = Array.from({ length: 5000 }, (_, index) => ({
    name: `route-${index}`,
    matches: [{ path: { type: "PathPrefix", value: `/r/${index}` } }],
    backends: [{ host: `127.0.0.1:${10_000 + index}` }],
  }));
  await using gateway = await startTracedGateway({
    config: { logging: { level: "warn" } },
    routes,
  });
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;
  const list = page.getByRole("listbox", { name: "Routes" });

  const longest = await longestTask(page, async () => {
    await showView(page, "Topology");
    await list.getByRole("option").first().hover();
    for (let i = 0; i < 20; i++) await page.mouse.wheel(0, 900);
    await list.focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await page.getByText("1 of 5000 routes").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("searchbox").fill("/r/499");
    await page.getByText("11 of 5000 routes").waitFor();
  });

  // Processor time: some 20 ms, and more where other programs share the caches.
  assert(longest > 0 && longest < 100, `${longest} ms`);
  expectQuiet(ui, gateway.admin);
});

const attack =
  `"><img src=x onerror="globalThis.hacked=1"><script>hacked=1</script>`;

Deno.test("markup in paths, header values, bodies and configuration errors stays text", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      routes: [{
        name: "hello",
        matches: [{ path: { type: "PathPrefix", value: "/" } }],
        policies: {
          directResponse: { status: 418, body: attack },
          rateLimit: { local: [{ requests: 5, unit: "Hours" }] },
        },
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: { set: [{ name: "x-attack", value: attack }] },
        }],
      }],
    },
  });
  await using ui = await openUi(`${gateway.admin}/ui/#trace`);
  const { page } = ui;
  const path = `/<b>/${encodeURIComponent(attack)}?q=${
    attack.replaceAll(" ", "+")
  }`;

  await page.getByRole("button", { name: "Trace" }).click();
  await page.getByText("Waiting").waitFor();
  using connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: gateway.port,
  });
  await connection.write(new TextEncoder().encode(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-Mine: ${attack}\r\nConnection: close\r\n\r\n`,
  ));
  await new Response(connection.readable).text();
  await page.getByText("Done: 1 request traced.").waitFor();
  for (const button of await page.getByRole("row").getByRole("button").all()) {
    await button.click();
  }
  await showView(page, "Failures");
  await page.getByRole("main").getByRole("link").first().click();
  await page.getByRole("heading", { name: /^Why/ }).waitFor();
  await showView(page, "Topology");
  for (const option of ["hello", "requestHeaderModifier"]) {
    await page.getByRole("option", { name: option }).first().click();
    await page.getByRole("heading", { level: 2, name: option }).waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
  }
  await replaceFile(gateway.file, { [attack]: attack, routes: attack });
  await showView(page, "Overview");
  await page.getByRole("region", { name: "Diagnostics" })
    .getByText("<script>").waitFor();

  assert.equal(await page.locator("img, main script, main b").count(), 0);
  assert.equal(await page.evaluate("globalThis.hacked"), undefined);
  expectQuiet(ui, gateway.admin);
});

Deno.test("config.adminToken is requested until it is right, and kept for the tab", async () => {
  const adminToken = "0123456789abcdef";
  await using gateway = await startTracedGateway({
    config: { adminToken },
    routes: [hello],
  });
  await using ui = await openUi(`${gateway.admin}/ui`, { bypassCSP: true });
  const { page } = ui;
  const dialog = page.getByRole("dialog", { name: "Admin token" });

  await dialog.getByLabel("Token").fill("wrong");
  const problems = await accessibilityProblems(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await dialog.getByLabel("Token").fill("wrong");
  await dialog.getByRole("button").click();
  await dialog.getByText("Invalid token.").waitFor();
  await dialog.getByLabel("Token").fill(adminToken);
  await page.keyboard.press("Enter");
  await page.getByText("Total requests").waitFor();
  await page.reload();
  await page.getByText("Total requests").waitFor();

  assert.deepEqual(problems, []);
  assert.equal(await dialog.isVisible(), false);
  assert.doesNotMatch(page.url(), new RegExp(adminToken));
});

Deno.test("the page on a gateway works behind basicAuthentication and changes nothing", async () => {
  await using gateway = await startUiGateway();
  await using ui = await openUi(`${gateway.origin}/ui`, {
    httpCredentials: uiUser,
  });
  const { page } = ui;

  await page.getByText("Total requests").waitFor();
  await showView(page, "Logging");
  await page.getByText("Read-only").waitFor();
  const controls = await page.getByRole("main").getByRole("button").count();
  await showView(page, "Trace");
  await page.getByRole("button", { name: "Trace" }).click();
  await page.getByText("Waiting").waitFor();
  await get(`${gateway.origin}/hello`);
  await page.getByRole("button", { name: "GET /hello → 200" }).waitFor();

  assert.equal(controls, 0);
  assert.equal(await page.getByRole("link", { name: "Profiles" }).count(), 0);
  assert.deepEqual(
    ui.requests.filter((url) => !url.startsWith(`${gateway.origin}/ui`)),
    [],
  );
});

Deno.test("the selected route stays selected after a reload of the page, and of the configuration", async () => {
  const routes = [hello, { ...hello, name: "other" }];
  await using gateway = await GatewayProcess.start({
    config: { routes },
  });
  await using ui = await openUi(`${gateway.admin}/ui/#topology`);
  const { page } = ui;
  const chosen = page.getByRole("listbox", { name: "Routes" })
    .getByRole("option", { selected: true });

  await page.getByRole("option", { name: /other/ }).first().click();
  await chosen.getByText("other").waitFor();
  await page.reload();
  await chosen.getByText("other").waitFor();
  const good = configFor(gateway.port, {
    routes: [...routes, { ...hello, name: "new" }],
  });
  await replaceFile(gateway.file, good);
  await page.getByText("1 of 3 routes").waitFor();

  assert.match(await chosen.innerText(), /other/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a filter is there after a reload of the page", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#trace`);
  const { page } = ui;
  const filter = 'request.path.startsWith("/a%2F/b")';

  await page.getByLabel("Filter (CEL)").fill(filter);
  await page.getByRole("button", { name: "Trace" }).click();
  await page.getByText("Waiting").waitFor();
  await page.reload();

  assert.equal(await page.getByLabel("Filter (CEL)").inputValue(), filter);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a flame graph is searched, and walked through by keyboard along its calls", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui/#profiles`);
  const { page } = ui;
  // A heap that hardly grew since the start may hold nothing that was sampled.
  const held = Array.from({ length: 300_000 }, (_, id) => ({ id, all: [id] }));
  await page.getByRole("button", { name: "Heap profile" }).click();
  await page.getByText(/^Done/).waitFor();
  const calls = page.getByRole("group", { name: /^Calls/ });
  const focused = () => page.evaluate("document.activeElement.textContent");

  const name = await calls.getByRole("button").nth(1).innerText();
  await page.getByRole("searchbox", { name: "Find" }).fill(name.toUpperCase());
  await page.getByText(/^Found: .* %$/).waitFor();
  const found = await calls.locator(".found").allInnerTexts();
  await calls.getByRole("button", { name: "all", exact: true }).focus();
  await page.keyboard.press("ArrowDown");
  const below = await focused();
  await page.keyboard.press("ArrowUp");

  assert(found.includes(name));
  const fits = (text: string) =>
    text.toLowerCase().includes(name.toLowerCase());
  assert(found.every(fits), found.join());
  assert.notEqual(below, "all");
  assert.equal(await focused(), "all");
  assert.equal(held.length, 300_000);
  expectQuiet(ui, gateway.admin);
});

Deno.test("of many budgets those with the least left are shown, and any other is found", async () => {
  const routes = Array.from({ length: 150 }, (_, index) => ({
    ...hello,
    name: `route-${index}`,
    matches: [{ path: { type: "Exact", value: `/r/${index}` } }],
  }));
  await using gateway = await startTracedGateway({ routes });
  await using ui = await openUi(`${gateway.admin}/ui/#limits`);
  const { page } = ui;

  await page.getByText("The 100 of 150 budgets with the least remaining.")
    .waitFor();
  await get(`${gateway.origin}/r/149`);
  await page.getByText("4 of 5 requests left").waitFor();
  assert.equal(await page.getByRole("meter").count(), 100);
  await page.getByRole("searchbox", { name: "Find" }).fill("route-142");
  await page.getByText("1 budget.").waitFor();

  assert.equal(
    await page.getByRole("meter").getAttribute("aria-label"),
    "5 requests per hour of HTTPRoute/default/route-142",
  );
  expectQuiet(ui, gateway.admin);
});

Deno.test("everything can be reached with the keyboard, and the current view is announced", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;
  const focused = () =>
    page.evaluate(
      "document.activeElement.textContent.trim() || document.activeElement.tagName",
    );
  await page.getByText("Total requests").waitFor();

  await page.keyboard.press("Tab");
  assert.equal(await focused(), "Skip to content");
  const reached: unknown[] = [];
  for (const _ of views) {
    await page.keyboard.press("Tab");
    reached.push(await focused());
  }
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Profiles" }).waitFor();

  assert.deepEqual(reached, views);
  assert.equal(await page.title(), "Profiles – Gateway");
  assert.equal(await page.evaluate("document.activeElement.id"), "main");
  assert.equal(
    await page.locator('[aria-current="page"]').innerText(),
    "Profiles",
  );
});

Deno.test("the page reports that the gateway is gone, and goes on when it is back", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;
  const badge = page.getByRole("banner").getByRole("status");

  await badge.getByText("ready").waitFor();
  await page.route(/\/api\//, (route) => route.abort());
  await badge.getByText("The gateway does not respond").waitFor();
  await page.unroute(/\/api\//);
  await badge.getByText("ready").waitFor();
});

Deno.test("the page reports that the gateway is silent, also when it is opened, and goes on when it answers", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;
  await page.getByText("Total requests").waitFor();
  const held: Route[] = [];

  // The page waits for a response for ten seconds; here, until the test says that they are over.
  await page.addInitScript(waitUntilTold);
  await page.route(/\/api\//, (route) => void held.push(route));
  await page.reload();
  await page.getByText("Waiting for the gateway").waitFor();
  await page.evaluate("globalThis.timeOut()");
  await page.getByRole("main").getByText("The gateway does not respond")
    .waitFor();
  await page.unroute(/\/api\//);
  await page.getByText("Total requests").waitFor();
});

/** Time-outs of the page are over when `timeOut` is called, and those that begin later are as they were. */
const waitUntilTold = `
  const { timeout } = AbortSignal;
  const waiting = [];
  AbortSignal.timeout = () => {
    const ending = new AbortController();
    waiting.push(ending);
    return ending.signal;
  };
  globalThis.timeOut = () => {
    AbortSignal.timeout = timeout;
    for (const ending of waiting) {
      ending.abort(new DOMException("", "TimeoutError"));
    }
  };
`;
