/** Tables and charts whose parts are not cut off, unless a sign says so. */
import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { gatewayCommand } from "../../harness/process/executable.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import { openUi } from "../../harness/browser/ui_page.ts";

const hello = {
  name: "hello",
  matches: [{ path: { type: "PathPrefix", value: "/hello" } }],
  policies: { directResponse: { status: 200, body: "Hello" } },
};

Deno.test("at 390 pixels, a long URL of a failure takes two lines, and a shade says that there are more columns", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  const path = `/v1/projects/${"some-long-name/".repeat(8)}models`;
  await (await fetch(gateway.origin + path)).text();
  await using ui = await openUi(`${gateway.admin}/ui/#failures`, {
    viewport: { width: 390, height: 800 },
    bypassCSP: true,
  });
  const { page } = ui;
  const table = page.getByRole("group", { name: /^Failed requests/ });
  const link = table.getByRole("link").first();
  await link.waitFor();

  const lines = Number(
    await page.evaluate(`(() => {
      const link = document.querySelector(".scroll tbody a");
      const { lineHeight } = getComputedStyle(link.parentElement);
      return link.getBoundingClientRect().height / parseFloat(lineHeight);
    })()`),
  );
  const title = await link.getAttribute("title");
  const shaded = await shadeAtEdge(page, table);
  await page.evaluate(`document.querySelector(".scroll").scrollLeft = 9999`);
  const shadedAtEnd = await shadeAtEdge(page, table);

  assert(lines > 0 && lines < 2.5, String(lines));
  assert(title?.endsWith(path));
  assert(shaded > 0.9, String(shaded));
  assert(shadedAtEnd < 0.3, String(shadedAtEnd));
});

Deno.test("with two API keys in the file, the page Keys says that no policy verifies tokens, and that these keys are valid", async () => {
  const keys = ["red", "blue"].map((team) => ({
    key: `planted-key-of-${team}`,
    metadata: { team },
  }));
  await using gateway = await startTracedGateway({
    routes: [{
      ...hello,
      policies: { ...hello.policies, apiKeyAuthentication: { keys } },
    }],
  });
  await using ui = await openUi(`${gateway.admin}/ui/#keys`);
  const main = ui.page.getByRole("main");

  await main.getByText("No policy verifies tokens").waitFor();
  const text = await main.innerText();

  assert.doesNotMatch(text, /uses keys/);
  assert.match(text, /Keys of the configuration are valid without it/);
});

Deno.test("no label of a chart is clipped, and no curve falls in a step that is not finished", async () => {
  await using gateway = await startTracedGateway({ routes: [hello] });
  for (let i = 0; i < 5; i++) {
    await (await fetch(`${gateway.origin}/hello`)).text();
  }
  await using ui = await openUi(`${gateway.admin}/ui/#overview`);
  const { page } = ui;
  const steps: unknown[] = [];
  await page.route("**/ui/api/traffic?*", async (route) => {
    const response = await route.fetch();
    const report = await response.json();
    steps.push(report.series.p95.at(-1));
    // The axis ends at a full hour, where the last label is.
    const { times, stepSeconds } = report;
    const late = 3600 - ((times.at(-1) + stepSeconds) % 3600);
    const moved = times.map((time: number) => time + late);
    await route.fulfill({ response, json: { ...report, times: moved } });
  });
  for (const width of [390, 1280, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${gateway.admin}/ui/#traffic/15m/route`);
    await page.reload();
    await page.locator(".chart canvas").first().waitFor();
    await page.waitForFunction(`${paintedFrom}(0) > 0`);

    // Text that is clipped reaches the edge.
    const atEdge = await page.evaluate(`${paintedFrom}(1)`);
    assert.equal(atEdge, 0, `${width} pixels`);
  }
  assert(steps.length > 0);
  for (const step of steps) assert(step === null || Number(step) > 0);
});

Deno.test("the page Configuration and its download hide secrets by their place only, and a download with placeholders is rejected", async () => {
  const config = {
    routes: [{
      ...hello,
      policies: {
        ...hello.policies,
        apiKeyAuthentication: {
          keys: [{
            key: "fast-and-planted-key",
            metadata: { tier: "fast-and-planted-key", model: "fast" },
          }],
        },
      },
      backends: [],
    }, {
      name: "fast",
      matches: [{ model: "fast" }],
      backends: [{
        llm: {
          provider: "OpenAI",
          credentials: { key: "fast" },
          aliases: { fast: "gpt-4o" },
        },
      }],
    }],
  };
  await using gateway = await GatewayProcess.start({ config });
  await using ui = await openUi(`${gateway.admin}/ui/#configuration`);
  const { page } = ui;
  const editor = page.getByRole("textbox", { name: /^Source of/ });
  await editor.waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download" }).click(),
  ]);
  const text = await Deno.readTextFile(await download.path());

  for (const shown of [text, await editor.innerText()]) {
    const plain = shown.replace(/\s+/g, "");
    assert.match(plain, /"model":"fast"/);
    assert.match(plain, /"aliases":\{"fast":"gpt-4o"\}/);
    assert.match(plain, /"credentials":\{"key":"<redacted\d>"\}/);
  }
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(file, text);
  const { code, stderr } = await gatewayCommand({
    args: ["-f", file, "--validate-only"],
  }).output();
  await Deno.remove(file);
  assert.equal(code, 1);
  assert.match(
    new TextDecoder().decode(stderr),
    /error: \S+credentials\.key: "<redacted \d>" is not a value/,
  );
});

/** Function of the page: counts what is painted in the last columns of pixels of the first chart; in all of them for 0. */
const paintedFrom = `((columns) => {
  const canvas = document.querySelector(".chart canvas");
  if (canvas === null || canvas.width === 0) return -1;
  const { width, height } = canvas;
  const left = columns === 0 ? 0 : width - columns;
  const { data } = canvas.getContext("2d")
    .getImageData(left, 0, width - left, height);
  return data.filter((value, index) => index % 4 === 3 && value > 0).length;
})`;

/** Returns the share of rows of pixels, at the right edge of an element, that differ from the background of its panel. */
async function shadeAtEdge(page: Page, element: Locator): Promise<number> {
  const box = await element.boundingBox();
  assert(box !== null);
  const { y, height } = box;
  const png = await page.screenshot({
    clip: { x: box.x + box.width - 2, y, width: 2, height },
  });
  return Number(
    await page.evaluate(`(async () => {
      const image = new Image();
      image.src = "data:image/png;base64,${png.toString("base64")}";
      await image.decode();
      const canvas = document.createElement("canvas");
      const { width, height } = Object.assign(canvas, {
        width: image.width,
        height: image.height,
      });
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(width - 1, 0, 1, height);
      const panel = document.querySelector(".panel");
      const [red] = /\\d+/.exec(getComputedStyle(panel).backgroundColor);
      const shaded = data.filter((value, index) =>
        index % 4 === 0 && Math.abs(value - red) > 8
      );
      return shaded.length / height;
    })()`),
  );
}
