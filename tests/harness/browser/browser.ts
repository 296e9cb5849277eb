import { type Browser, chromium } from "playwright-core";

/** Time-out of a step in a browser on a busy machine. */
export const PATIENCE_MS = 120_000;

const candidates = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

/**
 * Starts headless Chromium. `CHROMIUM` is the path of the executable if it differs from Debian's.
 *
 * @throws {Error} If there is none: a test that skips itself proves nothing.
 */
export async function startBrowser(): Promise<Browser> {
  const executablePath = await findChromium();
  return await chromium.launch({
    executablePath,
    timeout: PATIENCE_MS,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
    ],
  });
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
  throw new Error(
    'Cannot find Chromium: install it with "apt-get install chromium", or name it in CHROMIUM',
  );
}
