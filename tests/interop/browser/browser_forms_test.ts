import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  accessibilityProblems,
  openUi,
} from "../../harness/browser/ui_page.ts";

const adminToken = "0123456789abcdef";

async function openConfiguration(admin: string, argument = "") {
  const ui = await openUi(`${admin}/ui/#configuration${argument}`, {
    bypassCSP: true,
  });
  await ui.page.getByRole("dialog").getByLabel("Token").fill(adminToken);
  await ui.page.keyboard.press("Enter");
  await ui.page.getByRole("textbox", { name: /^Source of/ }).waitFor();
  return ui;
}

const routes = [{
  name: "hello",
  matches: [{ path: { type: "PathPrefix", value: "/" } }],
  policies: { directResponse: { status: 200, body: "first" } },
}];

Deno.test("a limit is added by a form: its lines and what changes are shown, apply puts it in force, and history takes it back", async () => {
  await using gateway = await GatewayProcess.start({
    config: { config: { adminToken }, routes },
  });
  const before = await Deno.readTextFile(gateway.file);
  await using ui = await openConfiguration(gateway.admin, "/limit");
  const { page } = ui;

  const form = page.getByRole("form", { name: "Limit" });
  await form.getByLabel("At most").fill("2");
  await form.getByRole("button", { name: "Show the lines" }).click();
  const changes = page.getByRole("list", { name: "What changes" });
  await changes.getByText("~ policies", { exact: false })
    .or(changes.getByText("rateLimit", { exact: false })).first().waitFor();
  const problems = await accessibilityProblems(page);
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText("Applied.").waitFor();
  const statuses = await statusesOf(gateway.origin, 3);
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  const back = page.getByRole("button", { name: /^Go back to/ });
  await back.click();
  await page.getByText("It is in force again.").waitFor();
  const later = await statusesOf(gateway.origin, 3);

  assert.deepEqual(statuses, [200, 200, 429]);
  assert.deepEqual(later, [200, 200, 200]);
  assert.equal(await Deno.readTextFile(gateway.file), before);
  assert.deepEqual(problems, []);
  assert.deepEqual(ui.complaints.filter((each) => !each.includes("401")), []);
});

Deno.test("a provider is added by a form, and comments and secrets of the file stay", async () => {
  await using gateway = await GatewayProcess.start({
    config: { config: { adminToken }, routes },
  });
  const text = `# Team blue.\n${await Deno.readTextFile(gateway.file)}`;
  await Deno.writeTextFile(gateway.file, text);
  await using ui = await openConfiguration(gateway.admin, "/provider");
  const { page } = ui;
  const form = page.getByRole("form", { name: "LLM provider" });

  await form.getByLabel("Provider").selectOption("OpenAICompatible");
  await form.getByLabel("Host").fill("127.0.0.1:11434");
  await form.getByLabel("Models").fill("llama-*");
  await form.getByRole("button", { name: "Show the lines" }).click();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await page.getByText("Applied.").waitFor();

  const written = await Deno.readTextFile(gateway.file);
  assert.match(written, /^# Team blue\./);
  assert.match(written, /0123456789abcdef/);
  assert.match(written, /llama-\*/);
  assert.doesNotMatch(written, /redacted/);
});

Deno.test("a form says which field is missing, and that it cannot change Kubernetes resources", async () => {
  await using gateway = await GatewayProcess.start({
    config: { config: { adminToken }, routes },
  });
  await using ui = await openConfiguration(gateway.admin);
  const { page } = ui;
  const editor = page.getByRole("textbox", { name: /^Source of/ });

  await page.getByRole("button", { name: "Limit" }).click();
  const form = page.getByRole("form", { name: "Limit" });
  await form.getByLabel("At most").fill("many");
  await form.getByRole("button", { name: "Show the lines" }).click();
  await page.getByText('"many" is not a number').waitFor();
  await editor.press("ControlOrMeta+a");
  await page.keyboard.insertText("kind: Gateway\n");
  await page.getByText("resources of Kubernetes").waitFor();
});

Deno.test("the editor completes keys and explains them", async () => {
  await using gateway = await GatewayProcess.start({
    config: { config: { adminToken }, routes },
  });
  await using ui = await openConfiguration(gateway.admin);
  const { page } = ui;
  const editor = page.getByRole("textbox", { name: /^Source of/ });

  await editor.press("ControlOrMeta+a");
  await page.keyboard.insertText("routes:\n  - name: a\n    hostnames: []\n");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("poli");
  const options = page.getByRole("listbox");
  await options.getByRole("option", { name: "policies" }).waitFor();
  const problems = await accessibilityProblems(page);
  await page.keyboard.press("Enter");
  await page.getByText("policies:").waitFor();
  await page.getByText("hostnames").hover();
  await page.locator(".cm-explanation").waitFor();

  assert.deepEqual(problems, []);
  assert.deepEqual(ui.complaints.filter((each) => !each.includes("401")), []);
});

async function statusesOf(
  origin: string,
  count: number,
): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let sent = 0; sent < count; sent++) {
    const response = await fetch(origin);
    await response.body?.cancel();
    statuses.push(response.status);
  }
  return statuses;
}
