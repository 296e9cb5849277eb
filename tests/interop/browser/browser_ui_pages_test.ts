import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import {
  startTracedGateway,
  type TracedGateway,
} from "../../harness/gateway/traced_gateway.ts";
import {
  expectAccessible,
  expectQuiet,
  openUi,
  showView,
  views,
  widthBeyond,
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

/** A gateway with something to show on every page, and a path that is longer than a screen. */
async function startBusyGateway(): Promise<TracedGateway> {
  const gateway = await startTracedGateway({ routes: [hello] });
  const long = `/${"long".repeat(60)}`;
  for (const path of ["/hello", "/hello", long, ...Array(4).fill("/hello")]) {
    await (await fetch(gateway.origin + path)).text();
  }
  return gateway;
}

/** Opens what a page has to show. */
const contents: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  async Overview(page) {
    await page.getByText("Total requests").waitFor();
  },
  async Keys(page) {
    await page.getByText("No policy verifies tokens").waitFor();
  },
  async Accounts(page) {
    await page.getByText("No logins").waitFor();
  },
  async Logging(page) {
    await page.getByRole("row", { name: /^\(default\)/ }).waitFor();
  },
  async Memory(page) {
    await page.getByRole("table").first().waitFor();
  },
  async Tasks(page) {
    await page.locator(".stat").first().waitFor();
  },
  async Traffic(page) {
    await page.getByRole("table", { name: "Traffic by route" }).waitFor();
  },
  async Requests(page) {
    await page.getByRole("option", { name: "hello" }).first().click();
    await page.getByText("Recorded steps").waitFor();
  },
  async Topology(page) {
    await page.getByRole("option", { name: "hello" }).first().click();
    await page.getByRole("table", { name: "Policies in force" }).waitFor();
  },
  async Failures(page) {
    await page.getByRole("link", { name: /GET .*hello/ }).first().click();
    await page.getByRole("heading", { name: /^Why/ }).waitFor();
    await page.getByRole("button", { name: "requestSnapshot" }).first()
      .click();
  },
  async Limits(page) {
    await page.getByRole("meter").waitFor();
  },
  async "MCP servers"(page) {
    await page.getByText("No backend has MCP servers").waitFor();
  },
  async Configuration(page) {
    await page.getByRole("textbox", { name: /^Source of/ }).waitFor();
    // The button is disabled until the draft has been checked.
    await page.locator("button:enabled", { hasText: "Try on" }).waitFor();
    await page.getByRole("table", { name: "Configurations" }).waitFor();
  },
  async Playground(page) {
    await page.getByRole("tab", { name: "Expression" }).click();
    await page.getByRole("table").waitFor();
    await page.getByRole("combobox", { name: /failed request/ }).waitFor();
  },
  async Profiles(page) {
    await page.getByRole("button", { name: "Heap profile" }).click();
    await page.getByText(/^Done/).waitFor();
  },
};

async function openPage(page: Page, view: string): Promise<void> {
  // On a narrow screen the report of a request covers the menu.
  const close = page.getByRole("button", { name: "Close", exact: true });
  if (await close.isVisible()) await close.click();
  await showView(page, view);
  await contents[view]?.(page);
}

for (const width of [390, 1024, 1920]) {
  Deno.test(`every page of the web UI is accessible and fits when it is ${width} wide, in light and dark`, async () => {
    await using gateway = await startBusyGateway();
    await using ui = await openUi(`${gateway.admin}/ui`, {
      viewport: { width, height: 900 },
      // axe runs as a script of the page.
      bypassCSP: true,
    });
    const { page } = ui;

    for (const view of views) {
      await openPage(page, view);
      await expectAccessible(page, [width]);
    }
    expectQuiet(ui, gateway.admin);
  });
}

const narrow = [
  { name: "a screen at 200 %", viewport: { width: 720, height: 450 } },
  {
    name: "the narrowest that WCAG 1.4.10 has",
    viewport: { width: 320, height: 640 },
  },
];
for (const { name, viewport } of narrow) {
  Deno.test(`no page is wider than ${name}`, async () => {
    await using gateway = await startBusyGateway();
    await using ui = await openUi(`${gateway.admin}/ui`, { viewport });

    for (const view of views) {
      await openPage(ui.page, view);
      assert.equal(await widthBeyond(ui.page), 0, view);
    }
  });
}

Deno.test("a menu that is opened before the gateway responds stays open", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  await using ui = await openUi("about:blank", {
    viewport: { width: 320, height: 640 },
  });
  const { page } = ui;
  const menu = page.getByRole("button", { name: "Menu" });
  const response = Promise.withResolvers<void>();
  await page.route("**/ui/api/status", async (route) => {
    await response.promise;
    await route.continue();
  });

  await page.goto(`${gateway.admin}/ui`);
  await menu.click();
  response.resolve();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();

  assert.equal(await menu.getAttribute("aria-expanded"), "true");
});

Deno.test("every page can be used with the keyboard only: all controls are reached in order, and none keeps the focus", async () => {
  await using gateway = await startBusyGateway();
  await using ui = await openUi(`${gateway.admin}/ui`);
  const { page } = ui;

  for (const view of views) {
    await openPage(page, view);
    await page.evaluate("document.querySelector('main').focus()");
    const expected = await page.evaluate(controlsOfMain) as number;
    const reached = new Set<unknown>();
    for (let i = 0; i < expected + 2; i++) {
      // Escape lets Tab leave the code editor.
      if (view === "Configuration") await page.keyboard.press("Escape");
      await page.keyboard.press("Tab");
      const at = await page.evaluate(focusedControl);
      if (at !== -1) reached.add(at);
    }
    assert.equal(reached.size, expected, view);
  }
});

/** Marks and counts the controls of the page that Tab has to reach. */
const controlsOfMain = `(() => {
  const all = [...document.querySelectorAll(
    "main :is(a[href], button, input, select, textarea, summary, [tabindex='0'])",
  )].filter((each) =>
    !each.disabled && each.tabIndex >= 0 && each.checkVisibility() &&
    each.getClientRects().length > 0
  );
  globalThis.controls = all;
  return all.length;
})()`;

/** Number of the control with the focus; -1 in the code editor and outside of the page's content. */
const focusedControl = `globalThis.controls.indexOf(document.activeElement)`;
