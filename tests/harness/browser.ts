import { type Browser, chromium } from "playwright-core";

/** How long a busy machine may take over a step in a browser. */
export const PATIENCE_MS = 120_000;

const candidates = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

/**
 * Starts Chromium without a window. `CHROMIUM` names the executable where it is elsewhere than in Debian.
 *
 * @throws {Error} when there is none, because a test that skips itself proves nothing
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
