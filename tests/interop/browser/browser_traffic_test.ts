/** The pages Traffic and Requests of the web UI. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { until } from "../../harness/servers/held_upstream.ts";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import { startUiGateway, uiUser } from "../../harness/browser/ui_gateway.ts";
import { longestTask } from "../../harness/browser/page_tasks.ts";
import {
  accessibilityProblems,
  expectQuiet,
  openUi,
  showView,
} from "../../harness/browser/ui_page.ts";

const routes = [
  {
    name: "hello",
    matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
    policies: {
      directResponse: { status: 200, body: "Hello" },
    },
  },
  {
    name: "broken",
    matches: [{ path: { type: "PathPrefix", value: "/broken" } }],
    policies: { directResponse: { status: 503, body: "Sorry" } },
  },
];

function start(): Promise<TracedGateway> {
  return startTracedGateway({ routes });
}

async function get({ origin }: TracedGateway, path: string): Promise<void> {
  await (await fetch(origin + path)).text();
}

function options(page: Page) {
  return page.getByRole("listbox", { name: "Requests, newest first" })
    .getByRole("option");
}

Deno.test("traffic that was before the page was opened is shown by route, and of one route alone", async () => {
  await using gateway = await start();
  for (let i = 0; i < 9; i++) await get(gateway, "/hello");
  await get(gateway, "/broken");
  await get(gateway, "/nothing");
  await using ui = await openUi(`${gateway.admin}/ui/#traffic`);
  const { page } = ui;
  const stat = (label: string) =>
    page.locator(".stat", { has: page.getByText(label, { exact: true }) });
  const table = page.getByRole("table", { name: "Traffic by route" });

  await table.getByRole("row", { name: /hello 9/ }).waitFor();
  const rows = await table.getByRole("rowheader").allInnerTexts();
  const all = await stat("Errors").innerText();
  await page.getByRole("button", { name: "Errors" }).click();
  const byErrors = await table.getByRole("rowheader").allInnerTexts();
  await table.getByRole("button", { name: "hello" }).click();
  await page.getByText("Only route").waitFor();
  await stat("Errors").getByText("0 %").waitFor();
  await page.reload();
  await stat("Errors").getByText("0 %").waitFor();
  await page.getByRole("button", { name: "1 h" }).click();
  await page.getByRole("img", { name: /^Latency over the last hour: p50/ })
    .waitFor();
  await page.getByRole("link", { name: "Show its requests" }).click();
  await page.getByText("9 requests").waitFor();

  assert.deepEqual(rows, ["hello", "broken", "No route"]);
  assert.deepEqual(byErrors, ["broken", "No route", "hello"]);
  assert.match(all, /18\.2 %\s+4xx 1, 5xx 1/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("without traffic, the page says what to do, and then shows it live", async () => {
  await using gateway = await start();
  await using ui = await openUi(`${gateway.admin}/ui/#traffic/24h/model`);
  const { page } = ui;

  await page.getByText("No requests in the last 24 hours").waitFor();
  await page.getByRole("button", { name: "15 min" }).click();
  await page.getByText("No requests in the last 15 minutes").waitFor();
  await get(gateway, "/hello");
  await page.getByText("None in this range.").waitFor();
  await page.getByRole("button", { name: "Route" }).click();
  await page.getByRole("row", { name: /hello 1/ }).waitFor();

  expectQuiet(ui, gateway.admin);
});

Deno.test("a chart of the traffic says what is under the pointer, in all charts at once", async () => {
  await using gateway = await start();
  await get(gateway, "/hello");
  await using ui = await openUi(`${gateway.admin}/ui/#traffic`);
  const charts = ui.page.locator(".chart");

  await charts.first().locator(".u-over").hover();

  await until(async () => {
    const [first = "", ...others] = await charts.locator(
      ".u-series:first-child .u-value",
    ).allInnerTexts();
    return /[0-9]+:[0-9]{2}:[0-9]{2}/.test(first) && others.length >= 2 &&
      others.every((each) => each === first);
  });
});

Deno.test("requests appear as they end, and are filtered by outcome, route and text", async () => {
  await using gateway = await start();
  await using ui = await openUi(`${gateway.admin}/ui/#requests`);
  const { page } = ui;

  await page.getByText("No requests yet").waitFor();
  for (const path of ["/hello/one", "/hello/two", "/broken", "/nothing"]) {
    await get(gateway, path);
  }
  await page.getByText("4 requests").waitFor();
  await page.getByRole("button", { name: "Failed" }).click();
  await page.getByText("2 requests").waitFor();
  await page.getByRole("button", { name: "5xx" }).click();
  await page.getByText("1 request", { exact: true }).waitFor();
  const failed = await options(page).allInnerTexts();
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByText("4 requests").waitFor();
  await page.getByRole("searchbox", { name: "Search" }).fill("TWO");
  await page.getByText("1 request", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("1 request", { exact: true }).waitFor();
  const found = await options(page).allInnerTexts();
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Route").fill("hello");
  await page.getByText("2 requests").waitFor();
  await page.getByLabel("Key").fill("nobody");
  await page.getByText("No recorded request matches").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByText("4 requests").waitFor();

  assert.match(failed.join(), /503\s+GET \/broken/);
  assert.match(found.join(), /200\s+GET \/hello\/two/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a paused list stays, counts what is newer, and goes on", async () => {
  await using gateway = await start();
  await get(gateway, "/hello/before");
  await using ui = await openUi(`${gateway.admin}/ui/#requests`);
  const { page } = ui;

  await page.getByText("1 request", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  for (let i = 0; i < 3; i++) await get(gateway, "/hello/after");
  await page.getByText("3 newer").waitFor();
  const held = await options(page).allInnerTexts();
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("4 requests").waitFor();
  await get(gateway, "/hello/last");
  await page.getByText("1 newer").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("5 requests").waitFor();

  assert.equal(held.length, 1);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a filter applies to a list that is scrolled", async () => {
  await using gateway = await start();
  for (let i = 0; i < 40; i++) await get(gateway, `/hello/${i}`);
  await get(gateway, "/nothing");
  await using ui = await openUi(`${gateway.admin}/ui/#requests`);
  const { page } = ui;

  await page.getByText("41 requests").waitFor();
  await options(page).first().hover();
  await page.mouse.wheel(0, 500);
  await options(page).filter({ hasText: "/hello/20" }).waitFor();
  await page.getByRole("button", { name: "Failed" }).click();
  await page.getByText("1 request", { exact: true }).waitFor();

  assert.match(await options(page).innerText(), /GET \/nothing/);
  expectQuiet(ui, gateway.admin);
});

Deno.test("a row opens its times, cause and advice; one that succeeded says how to trace it", async () => {
  await using gateway = await start();
  await get(gateway, "/nothing?token=secret-secret");
  await get(gateway, "/hello");
  await using ui = await openUi(`${gateway.admin}/ui/#requests`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const drawer = page.getByRole("dialog", { name: "Request" });

  await options(page).filter({ hasText: "/nothing" }).click();
  await drawer.getByText(/^No route matches GET \/nothing/).waitFor();
  await drawer.getByText(/Compare host, path/).waitFor();
  await drawer.getByRole("button", { name: "requestFinished" }).waitFor();
  const failed = await drawer.innerText();
  const problems = await accessibilityProblems(page);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await drawer.getByText("This request was not traced").waitFor();
  await drawer.getByRole("rowheader", { name: "Gateway" }).waitFor();
  await page.reload();
  await drawer.getByRole("link", { name: "Trace the next one like it" })
    .click();
  const filter = await page.getByLabel("Filter (CEL)").inputValue();

  assert.match(failed, /Time: [0-9.]+/);
  assert.doesNotMatch(failed, /secret-secret/);
  assert.deepEqual(problems, []);
  assert.equal(
    filter,
    'request.method == "GET" && request.path == "/hello"',
  );
  expectQuiet(ui, gateway.admin);
});

Deno.test("a request that is no longer recorded says so", async () => {
  await using gateway = await start();
  await using ui = await openUi(`${gateway.admin}/ui/#requests/open=0-s99`);

  await ui.page.getByText("This request is no longer recorded").waitFor();
});

Deno.test("under load, a click opens the row that is under the pointer", async () => {
  await using gateway = await start();
  for (let i = 0; i < 40; i++) await get(gateway, `/hello/early/${i}`);
  await using ui = await openUi(`${gateway.admin}/ui/#requests`);
  const { page } = ui;
  const drawer = page.getByRole("dialog", { name: "Request" });
  const stopping = new AbortController();
  const load = (async () => {
    for (let i = 0; !stopping.signal.aborted; i++) {
      await get(gateway, `/hello/late/${i}`);
    }
  })();

  const wrong: string[] = [];
  for (const index of [0, 3, 6, 1, 4, 2]) {
    const row = options(page).nth(index);
    await row.hover();
    const held = await row.innerText();
    // Requests have ended since, and the list has not moved.
    await page.getByText(/^[0-9]+ newer$/).waitFor();
    await page.mouse.down();
    await page.mouse.up();
    const path = /GET (\S+)/.exec(held)?.[1] ?? "";
    const title = await drawer.getByRole("heading", { level: 2 }).innerText();
    if (!title.endsWith(path)) wrong.push(`${title} for ${path}`);
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    await page.mouse.move(0, 0);
    await page.locator("h1").click();
    await page.getByText("Live", { exact: true }).waitFor();
  }
  stopping.abort();
  await load;

  assert.deepEqual(wrong, []);
  expectQuiet(ui, gateway.admin);
});

Deno.test("the live log and the charts stay fluid while many requests end", async () => {
  await using gateway = await start();
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;

  const longest = await longestTask(page, async () => {
    for (let burst = 0; burst < 5; burst++) {
      for (let i = 0; i < 50; i++) await get(gateway, `/hello/${i}`);
      await showView(page, "Requests");
      // While it is being typed, a link is followed.
      await page.getByRole("searchbox", { name: "Search" }).fill("/hello/");
      await options(page).first().waitFor();
      await showView(page, "Traffic");
      await page.getByRole("table", { name: "Traffic by route" })
        .getByRole("row", { name: /hello/ }).waitFor();
    }
  });

  // Processor time: some 20 ms.
  assert(longest > 0 && longest < 100, `${longest} ms`);
  expectQuiet(ui, gateway.admin);
});

Deno.test("on a gateway, the page shows requests but not its own", async () => {
  await using gateway = await startUiGateway();
  await using ui = await openUi(`${gateway.origin}/ui/#requests`, {
    httpCredentials: uiUser,
  });
  const { page } = ui;

  await page.getByRole("button", { name: "Succeeded" }).click();
  await page.getByText("No recorded request matches").waitFor();
  await (await fetch(`${gateway.origin}/hello`)).text();
  await page.getByText("1 request", { exact: true }).waitFor();
  await showView(page, "Traffic");
  await page.getByRole("row", { name: /hello 1/ }).waitFor();
});
