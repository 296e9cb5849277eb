import assert from "node:assert/strict";
import { keyedPolicies, untilStatus } from "../../harness/keys/stored_keys.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import {
  accessibilityProblems,
  openUi,
} from "../../harness/browser/ui_page.ts";

Deno.test("a key is made, used, rotated and revoked on the page Keys, which shows it once", async () => {
  await using gateway = await startTracedGateway({
    config: { kv: { path: ":memory:" } },
    routes: [{ name: "r", policies: keyedPolicies }],
  });
  await using ui = await openUi(`${gateway.admin}/ui/#keys`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const press = (name: string | RegExp) =>
    page.getByRole("button", { name }).click();
  const newKey = page.getByRole("region", { name: "New key" });
  const readKey = () =>
    newKey.getByRole("textbox", { name: "Key" }).inputValue();

  await page.getByRole("textbox", { name: "New team" }).fill("blue");
  await press("Create team");
  await page.getByRole("option", { name: "blue" }).waitFor({
    state: "attached",
  });
  await page.getByRole("combobox", { name: "Team" }).selectOption("blue");
  await page.getByRole("textbox", { name: "Name" }).fill("ci");
  await press("Create key");
  const first = await readKey();
  await untilStatus(gateway.origin, first, 200);
  await press("Done");
  await newKey.waitFor({ state: "detached" });
  const row = page.getByRole("table", { name: "API keys" }).getByRole("row")
    .nth(1);
  await row.getByText("blue").waitFor();
  assert(!(await page.content()).includes(first));
  const screenshot = Deno.env.get("SCREENSHOT");
  if (screenshot !== undefined) await page.screenshot({ path: screenshot });

  await press("Edit blue");
  const form = page.getByRole("form", { name: /^Restrictions and budgets/ });
  const budgets = form.getByLabel("Budgets", { exact: true });
  await budgets.fill("5usd/year");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText('Invalid budget "5usd/year"').waitFor();
  await budgets.fill("5usd/month, 100requests/minute");
  await form.getByLabel("Notify at").fill("80, 100");
  await form.getByLabel("Keys that each user may make").fill("3");
  await form.getByLabel("Longest lifetime").fill("30 days");
  await form.getByLabel("Budgets of each user").fill("20usd/month");
  const problems = await accessibilityProblems(page);
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^selfService\.maxLifetime: /).waitFor();
  await form.getByLabel("Longest lifetime").fill("48h");
  await budgets.press("Enter");
  await page.getByRole("table", { name: "Teams" })
    .getByText("5 usd/month, 100 requests/minute").waitFor();
  await page.getByText("3 keys, 48h, 20 usd/month").waitFor();
  await press("Edit blue");
  await form.getByLabel("Keys that each user may make").fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("3 keys, 48h, 20 usd/month").waitFor({
    state: "detached",
  });
  await press(/^Edit key_/);
  await form.getByLabel("Addresses").fill("10.0.0.0/8");
  await form.getByRole("button", { name: "Save" }).click();
  await untilStatus(gateway.origin, first, 403);
  await press(/^Edit key_/);
  await form.getByLabel("Addresses").fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await untilStatus(gateway.origin, first, 200);
  assert.deepEqual(problems, []);

  await press(/^Rotate key_/);
  const second = await readKey();
  assert.notEqual(second, first);
  await untilStatus(gateway.origin, second, 200);
  await untilStatus(gateway.origin, first, 200);

  await press(/^Revoke key_/);
  await press(/^Revoke key_.* for good$/);
  await row.getByText("revoked").waitFor();
  await untilStatus(gateway.origin, second, 401);
});

Deno.test("without a store, the page Keys says what is missing", async () => {
  await using gateway = await startTracedGateway({
    routes: [{ name: "r", policies: { directResponse: { status: 200 } } }],
  });
  await using ui = await openUi(`${gateway.admin}/ui/#keys`);

  await ui.page.getByText("No store for API keys").waitFor();
});
