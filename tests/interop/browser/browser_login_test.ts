import assert from "node:assert/strict";
import { openUi } from "../../harness/browser/ui_page.ts";
import { startBrowserLoginSite } from "../../harness/login/browser_login_site.ts";

Deno.test("a user of Chromium logs in, works in two tabs, logs out, and is asked again", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start({ config: { workers: 2 } });
  const app = `${site.origin}/app`;
  await using ui = await openUi(`${app}/first?tab=1`);
  const { page } = ui;
  const second = await page.context().newPage();
  await second.goto(`${app}/second`);
  const logIn = page.getByRole("button", { name: "Log in and allow" });

  await logIn.click();
  await page.waitForURL(`${app}/first?tab=1`);
  await second.getByRole("button", { name: "Log in and allow" }).click();
  await second.waitForURL(`${app}/second`);
  const cookies = await page.context().cookies(site.origin);
  const inScripts = await page.evaluate("document.cookie");
  const ofScript = await page.evaluate("fetch('/app').then((r) => r.status)");
  await page.goto(`${site.origin}/oauth2/logout`);
  const left = (await page.context().cookies(site.origin)).filter((
    { name },
  ) => name.startsWith("__Host-oidc-"));
  const afterwards = await second.evaluate(
    "fetch('/app').then((r) => r.status)",
  );
  await second.reload();

  const [session] = cookies.filter(({ name }) =>
    /^__Host-oidc-\w+$/.test(name)
  );
  assert.deepEqual(
    [session?.httpOnly, session?.secure, session?.sameSite, session?.path],
    [true, true, "Lax", "/"],
  );
  assert.equal(inScripts, "");
  assert.equal(ofScript, 200);
  assert.deepEqual(left, []);
  assert.equal(afterwards, 401);
  assert.match(second.url(), /127\.0\.0\.1:\d+\/(?:app\/second|login\/)/);
});

Deno.test("a page of another site cannot log a user of Chromium out", async () => {
  await using site = await startBrowserLoginSite();
  await using _gateway = await site.start();
  const app = `${site.origin}/app`;
  await using ui = await openUi(app);
  const { page } = ui;
  await page.getByRole("button", { name: "Log in and allow" }).click();
  await page.waitForURL(app);

  // "localhost" is another site than "127.0.0.1".
  await page.goto(site.idp.origin.replace("127.0.0.1", "localhost"));
  await page.setContent(
    `<form method="post" action="${site.origin}/oauth2/logout"><button>Win</button></form>
<a href="${site.origin}/oauth2/logout">Prize</a>`,
  );
  await page.getByRole("button", { name: "Win" }).click();
  await page.waitForURL(`${site.origin}/oauth2/logout`);
  const refused = await page.textContent("main");
  await page.goBack();
  await page.goto(app);

  assert.match(refused ?? "", /of another site/);
  assert.equal(page.url(), app);
});
