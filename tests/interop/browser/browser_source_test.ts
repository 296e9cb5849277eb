import assert from "node:assert/strict";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  accessibilityProblems,
  openUi,
} from "../../harness/browser/ui_page.ts";

const adminToken = "0123456789abcdef";

Deno.test("the configuration is edited: an error has its place as it is typed, changes are marked, and apply puts them in force", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      config: { adminToken },
      routes: [{
        name: "hello",
        matches: [{ path: { type: "PathPrefix", value: "/" } }],
        policies: { directResponse: { status: 200, body: "first" } },
      }],
    },
  });
  await using ui = await openUi(`${gateway.admin}/ui/#configuration`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const editor = page.getByRole("textbox", { name: /^Source of/ });

  await page.getByRole("dialog").getByLabel("Token").fill(adminToken);
  await page.keyboard.press("Enter");
  await editor.waitFor();
  const apply = page.getByRole("button", { name: "Apply" });
  const text = await editor.innerText();
  await editor.press("ControlOrMeta+a");
  await page.keyboard.insertText(
    text.replace("directResponse", "directAnswer"),
  );
  const problem = page.getByRole("list", { name: "Diagnostics" }).getByRole(
    "listitem",
  );
  await problem.filter({ hasText: 'unknown field "directAnswer"' })
    .or(problem.filter({ hasText: "directAnswer" })).first().waitFor();
  const wasDisabled = await apply.isDisabled();
  const problems = await accessibilityProblems(page);
  await editor.press("ControlOrMeta+a");
  await page.keyboard.insertText(text.replace('"first"', '"second"'));
  await page.getByRole("button", { name: "Changes" }).click();
  await page.locator(".cm-deletedChunk").waitFor();
  await page.getByText("valid", { exact: true }).waitFor();
  await apply.click();
  await page.getByText("Applied.").waitFor();
  const response = await (await fetch(gateway.origin)).text();

  assert.doesNotMatch(text, /0123456789abcdef/);
  assert.equal(wasDisabled, true);
  assert.deepEqual(problems, []);
  assert.equal(response, "second");
  assert.match(await Deno.readTextFile(gateway.file), /0123456789abcdef/);
  // The first response asks for the token.
  assert.deepEqual(ui.complaints.filter((each) => !each.includes("401")), []);
});

Deno.test("the editor stays where it is when its text is applied", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      config: { adminToken },
      routes: Array.from({ length: 60 }, (_, index) => ({
        name: `route-${index}`,
        matches: [{ path: { type: "PathPrefix", value: `/${index}` } }],
        policies: { directResponse: { status: 200 } },
      })),
    },
  });
  await using ui = await openUi(`${gateway.admin}/ui/#configuration`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const editor = page.getByRole("textbox", { name: /^Source of/ });
  await page.getByRole("dialog").getByLabel("Token").fill(adminToken);
  await page.keyboard.press("Enter");
  await editor.waitFor();

  await editor.press("ControlOrMeta+End");
  await page.keyboard.insertText("\n# the end");
  await page.getByText("changed", { exact: true }).waitFor();
  await page.getByText("valid", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Applied.").waitFor();
  await page.getByText("Applied.", { exact: true }).waitFor();
  await editor.focus();
  await page.keyboard.insertText(", typed on");

  assert.match(await editor.innerText(), /# the end, typed on\s*$/);
});

Deno.test("a draft is tried on the last requests", async () => {
  await using gateway = await GatewayProcess.start({
    config: {
      config: { adminToken },
      routes: [{
        name: "hello",
        matches: [{ path: { type: "PathPrefix", value: "/" } }],
        policies: { directResponse: { status: 200, body: "first" } },
      }],
    },
  });
  for (const path of ["/a", "/b", "/b/c"]) {
    await (await fetch(gateway.origin + path)).text();
  }
  await using ui = await openUi(`${gateway.admin}/ui/#configuration`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const editor = page.getByRole("textbox", { name: /^Source of/ });
  await page.getByRole("dialog").getByLabel("Token").fill(adminToken);
  await page.keyboard.press("Enter");
  await editor.waitFor();
  const text = await editor.innerText();
  await editor.press("ControlOrMeta+a");
  await page.keyboard.insertText(text.replace('"value":"/"', '"value":"/b"'));
  await page.getByText("changed", { exact: true }).waitFor();
  await page.getByText("valid", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Try on the last" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText(/^Of 3 requests since .*: 1 denied/).waitFor();
  const changed = page.getByRole("group", { name: "Requests that would" });
  const rows = await changed.getByRole("row").count();
  assert.equal(rows, 2);
  assert.deepEqual(await accessibilityProblems(page), []);
});
