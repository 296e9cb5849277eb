import {
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";

/** Time-out of a step in a browser on a busy machine. */
export const PATIENCE_MS = 120_000;

const candidates = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** One for all tests of the process: it takes a second of processor time to start. Before the first test, whose leak it would be. */
const browser = await chromium.launch({
  executablePath: await findChromium(),
  timeout: PATIENCE_MS,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
  ],
});

/** A page with cookies, storage and a cache of its own. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
}

/** Opens a page in headless Chromium. `CHROMIUM` is the path of the executable if it differs from Debian's. */
export async function openPage(
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  return { page, [Symbol.asyncDispose]: () => context.close() };
}

async function findChromium(): Promise<string> {
  const asked = Deno.env.get("CHROMIUM");
  for (const path of asked === undefined ? candidates : [asked]) {
    try {
      await Deno.stat(path);
      return path;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  // A test that skips itself would prove nothing.
  throw new Error(
    'Cannot find Chromium: install it with "apt-get install chromium", or name it in CHROMIUM',
  );
}
