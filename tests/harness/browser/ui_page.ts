import assert from "node:assert/strict";
import axe from "axe-core";
import type { BrowserContextOptions, Page } from "playwright-core";
import { openPage } from "./browser.ts";

/** Titles of the pages of the web UI on the admin server, in the order of the navigation. */
export const views = [
  "Overview",
  "Traffic",
  "Requests",
  "Trace",
  "Failures",
  "Topology",
  "Configuration",
  "Playground",
  "MCP servers",
  "Limits",
  "Keys",
  "Accounts",
  "Logging",
  "Memory",
  "Connections",
  "Tasks",
  "Profiles",
];

/** A page of a browser that remembers what it asked for and what it complained about. */
export interface UiPage extends AsyncDisposable {
  readonly page: Page;
  /** URL of everything that the page asked the network for. */
  readonly requests: readonly string[];
  /** Errors, and what its policies stopped. */
  readonly complaints: readonly string[];
}

/** Opens a URL in Chromium. */
export async function openUi(
  url: string,
  options: BrowserContextOptions = {},
): Promise<UiPage> {
  const opened = await openPage({
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  const { page } = opened;
  const requests: string[] = [];
  const complaints: string[] = [];
  page.context().on("request", (request) => requests.push(request.url()));
  page.on("websocket", (socket) => requests.push(socket.url()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(url);
  return {
    ...opened,
    requests,
    complaints,
  };
}

/** Shows a view and waits for its heading. */
export async function showView(page: Page, name: string): Promise<void> {
  // Until then, there is neither a menu nor a link.
  await page.getByRole("heading", { level: 1 }).waitFor();
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole("navigation").getByRole("link", { name, exact: true })
    .click();
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Returns the violations that axe finds, each as `rule: element`. The page must be opened with `bypassCSP`. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // Half a megabyte to send and compile: once for each document.
  if (!await page.evaluate("'axe' in globalThis")) {
    await page.evaluate(axe.source);
  }
  const { violations } = await page.evaluate(() =>
    // deno-lint-ignore no-explicit-any -- the types of the page are not ours
    (globalThis as any).axe.run({
      resultTypes: ["violations"],
    }) as Promise<axe.AxeResults>
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html }) => `${id}: ${html}`)
  );
}

/**
 * Asserts that axe finds nothing in light and in dark at these widths, and that nothing is beyond the edge of the screen. `onEach` is
 * called while the page looks so.
 */
export async function expectAccessible(
  page: Page,
  widths: readonly number[],
  onEach: (look: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const look = `${colorScheme}-${width}`;
      await onEach(look);
      assert.deepEqual(await accessibilityProblems(page), [], look);
      assert.equal(await widthBeyond(page), 0, look);
    }
  }
}

/** Returns how many pixels of the page are beyond the edge of the screen. */
export function widthBeyond(page: Page): Promise<unknown> {
  return page.evaluate(
    "Math.max(0, document.documentElement.scrollWidth - innerWidth)",
  );
}

/** Asserts that everything was asked of one origin, and that the page had nothing to complain about. */
export function expectQuiet(
  { requests, complaints }: UiPage,
  origin: string,
): void {
  assert(requests.length > 0);
  assert.deepEqual(
    requests.filter((url) =>
      !url.startsWith(`${origin}/ui`) && !url.startsWith("data:")
    ),
    [],
  );
  assert.deepEqual(complaints, []);
}
