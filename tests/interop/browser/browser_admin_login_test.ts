import assert from "node:assert/strict";
import { startAdminLoginSite } from "../../harness/gateway/admin_login_site.ts";
import { openUi } from "../../harness/browser/ui_page.ts";

Deno.test("the web UI logs users in, hides what their role may not do, and signs them out", async () => {
  await using site = await startAdminLoginSite();
  const seen: Record<string, readonly string[]> = {};
  const buttons: Record<string, number> = {};
  for (const name of ["vera", "olga", "anna"]) {
    await using ui = await openUi(`${site.admin}/ui/#keys`);
    const { page } = ui;
    await page.getByRole("link", { name: "Log in" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill(name);
    await page.getByRole("button", { name: "Log in and allow" }).click();
    await page.waitForURL(`${site.admin}/ui/`);
    await page.getByText(name).waitFor();
    seen[name] = await page.getByRole("navigation").getByRole("link")
      .allTextContents();
    await page.goto(`${site.admin}/ui/#keys`);
    await page.getByText("No keys").waitFor();
    buttons[name] = await page.getByRole("button", { name: "Create key" })
      .count();
    await page.getByRole("link", { name: "Sign out" }).click();
    await page.waitForURL(`${site.idp.origin}/**`);
    await page.goto(`${site.admin}/ui/`);
    await page.getByRole("link", { name: "Log in" }).waitFor();
  }

  const without = (name: string, hidden: readonly string[]) =>
    (seen["anna"] ?? []).filter((each) => !hidden.includes(each)).map((each) =>
      each.replaceAll("anna", name)
    );
  assert(seen["anna"]?.includes("Configuration"));
  assert.deepEqual(seen["olga"], without("olga", ["Configuration"]));
  assert.deepEqual(
    seen["vera"],
    without("vera", ["Configuration", "Trace", "Playground", "Profiles"]),
  );
  assert.deepEqual(buttons, { vera: 0, olga: 1, anna: 1 });
});
