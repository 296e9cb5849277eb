import assert from "node:assert/strict";
import { startIdpA } from "../../../cli/dev/mock_idp_a.ts";
import {
  backendOf,
  sendAs,
  startConnectingSite,
} from "../../harness/gateway/connecting_gateway.ts";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import { protectedConfig } from "../../harness/gateway/protected_gateway.ts";
import { loginSteps } from "../../harness/gateway/proxied_gateway.ts";
import { startUserService } from "../../harness/login/user_service.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  accessibilityProblems,
  openUi,
  widthBeyond,
} from "../../harness/browser/ui_page.ts";

Deno.test("the page Accounts shows what users have connected, and disconnects one of them", async () => {
  await using service = await startUserService();
  await using site = await startConnectingSite();
  await using gateway = await site.startProcess({
    backends: [backendOf(service)],
    backend: { backend: "drive" },
  });
  for (const name of ["anna", "ben"]) {
    await site.user(name).connect((await sendAs(site, name)).link);
  }
  await using ui = await openUi(`${gateway.admin}/ui/#accounts`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const table = page.getByRole("table", { name: "Connected accounts" });
  const rows = table.getByRole("row");

  await rows.nth(2).waitFor();
  const texts = await rows.allTextContents();
  const problems = await accessibilityProblems(page);
  await page.setViewportSize({ width: 320, height: 640 });
  const beyond = await widthBeyond(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  const screenshot = Deno.env.get("SCREENSHOT");
  if (screenshot !== undefined) await page.screenshot({ path: screenshot });
  await page.getByRole("searchbox").fill("anna");
  await rows.filter({ hasText: "ben" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Revoke default/drive of anna" })
    .click();
  assert.equal((await sendAs(site, "anna")).status, 200);
  await page.getByRole("button", { name: /of anna for good$/ }).click();
  await page.getByText(/is revoked, at the authorization server too/).waitFor();
  await page.getByText("No accounts").waitFor();

  assert.equal(texts.length, 3);
  for (const text of texts.slice(1)) {
    assert.match(text, /^(anna|ben)http.*default\/drive.*active.*tools:read/);
    assert.match(text, /when revoked/);
  }
  assert.deepEqual([problems, beyond], [[], 0]);
  assert.equal((await sendAs(site, "anna")).status, 403);
  assert.equal((await sendAs(site, "ben")).status, 200);
  assert.deepEqual(ui.complaints, []);
});

Deno.test("the page Accounts shows which clients are logged in, and logs one out", async () => {
  const url = `http://127.0.0.1:${freePort()}/mcp`;
  const steps = loginSteps(url);
  await using idp = await startIdpA({
    registration: false,
    redirectUris: [`${steps.base}/callback`],
  });
  await using gateway = await GatewayProcess.start({
    config: protectedConfig(idp, {
      provider: "IdpA",
      url,
      upstream: idp.origin,
      mcp: {
        issuerMode: "Proxied",
        clientId: idp.clientId,
        scopes: ["offline_access", "openid"],
        resourceMetadata: { resource: url },
      },
    }),
    port: Number(new URL(url).port),
  });
  const client = await steps.registerClient("Editor");
  const logIn = async (account: string) => {
    const code = await steps.code(client, { account });
    return (await steps.redeem(client, code)).body;
  };
  const anna = await logIn("anna");
  const ben = await logIn("ben");
  await using ui = await openUi(`${gateway.admin}/ui/#accounts`, {
    bypassCSP: true,
  });
  const { page } = ui;
  const rows = page.getByRole("table", { name: "Logins" }).getByRole("row");

  await page.getByText("Users cannot connect accounts").waitFor();
  await rows.nth(2).waitFor();
  const texts = await rows.allTextContents();
  const problems = await accessibilityProblems(page);
  const screenshot = Deno.env.get("SCREENSHOT_LOGINS");
  if (screenshot !== undefined) await page.screenshot({ path: screenshot });
  await page.getByRole("button", { name: "Revoke Editor of anna" }).click();
  await page.getByRole("button", { name: /of anna for good$/ }).click();
  await page.getByText("Editor of anna is logged out.").waitFor();
  await rows.filter({ hasText: "anna" }).waitFor({ state: "detached" });

  assert.equal(texts.length, 3);
  assert.match(texts[1] ?? "", /^benhttp.*Editor.*\/mcp/);
  assert.deepEqual(problems, []);
  assert.equal(
    (await steps.refresh(client, anna.refresh_token)).body.error,
    "invalid_grant",
  );
  assert.equal((await steps.refresh(client, ben.refresh_token)).status, 200);
});
