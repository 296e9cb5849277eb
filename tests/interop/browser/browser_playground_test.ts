import assert from "node:assert/strict";
import type { BrowserContextOptions, Page } from "playwright-core";
import { openPage } from "../../harness/browser/browser.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startCommand } from "../../harness/process/running_command.ts";
import { expectAccessible } from "../../harness/browser/ui_page.ts";

const beforeLogin = [
  "MCP without a token 401 Unauthorized",
  "Protected-resource metadata 200 OK",
  "Authorization-server metadata 200 OK",
];
const called = [
  "MCP: initialize 200 OK",
  "MCP: initialized 202 Accepted",
  "MCP: tools/call 200 OK",
];

for (
  const { provider, registration, claims } of [
    {
      provider: "IdpA",
      registration: "Registration 201 Created",
      claims: /"permissions": \["call:mcp"\]/,
    },
    {
      provider: "IdpB",
      registration: "Registration",
      claims: /"roles": \["editor"\]/,
    },
  ]
) {
  const loggedIn = [
    ...beforeLogin,
    registration,
    "Login",
    "Back from the login",
    "Token 200 OK",
  ];

  Deno.test(`page of gateway dev shows a login at ${provider} from the challenge to the tool call`, async () => {
    await using playground = await openPlayground();
    const { page } = playground;

    await page.getByRole("combobox", { name: "Identity provider" })
      .selectOption(provider);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Log in and allow" }).click();
    const outcome = await outcomeOf(page);
    const text = await page.getByRole("main").innerText();

    assert.equal(outcome, "Done: the MCP server was called.");
    assert.deepEqual(await titlesOf(page), [...loggedIn, ...called]);
    assert.match(text, claims);
    assert.match(text, /www-authenticate: Bearer resource_metadata="http:/);
    assert.match(text, /"text": "Hello"/);
    // Three parts make a token; two would decode to its claims.
    assert.doesNotMatch(text, /eyJ[\w-]+\.eyJ/);
    assert.doesNotMatch(page.url(), /code=/);
    assert.deepEqual(playground.complaints, []);
  });

  Deno.test(`page of gateway dev shows the 403 of a user of ${provider} who may not call, after one who may`, async () => {
    await using playground = await openPlayground();
    const { page } = playground;
    await page.getByRole("combobox", { name: "Identity provider" })
      .selectOption(provider);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Log in and allow" }).click();
    await outcomeOf(page);

    await page.getByRole("combobox", { name: "User" }).selectOption("guest");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("button", { name: "Log in and allow" }).click();
    const outcome = await outcomeOf(page);

    assert.match(outcome, /^Denied with 403: the token is valid, but the rule/);
    assert.deepEqual(await titlesOf(page), [
      ...loggedIn,
      "MCP: initialize 403 Forbidden",
    ]);
    assert.deepEqual(await titlesOf(page, ".warn"), [
      beforeLogin[0],
      "MCP: initialize 403 Forbidden",
    ]);
    assert.match(
      await page.getByRole("main").innerText(),
      /"error": "forbidden"/,
    );
  });
}

Deno.test("page of gateway dev reports that the user denied access", async () => {
  await using playground = await openPlayground();
  const { page } = playground;

  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Deny" }).click();

  assert.equal(
    await outcomeOf(page),
    "Failed: the login failed: access_denied: The user denied access",
  );
  assert.equal(
    (await titlesOf(page)).at(-1),
    "Back from the login failed",
  );
});

Deno.test("page of gateway dev reports that the gateway is not available", async () => {
  await using playground = await openPlayground();
  const { page } = playground;
  await page.route(/idp-a\/mcp$/, (route) => route.abort());

  await page.getByRole("button", { name: "Run" }).click();

  assert.match(
    await outcomeOf(page),
    /^Failed: MCP without a token: no readable response .*CORS/,
  );
});

Deno.test("page of gateway dev is accessible and fits in light and dark at each width", async () => {
  // axe runs as a script of the page.
  await using playground = await openPlayground({ bypassCSP: true });
  const { page } = playground;
  const widths = [390, 1024, 1920];

  await expectAccessible(page, widths);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Log in and allow" }).click();
  await outcomeOf(page);
  await expectAccessible(page, widths);
});

Deno.test("page of gateway dev ignores a login that it did not start", async () => {
  await using playground = await openPlayground();
  const { page } = playground;

  await page.goto(new URL("/callback?code=c&state=s", page.url()).href);

  assert.equal(
    await outcomeOf(page),
    "Failed: No login is in progress. Run it again",
  );
});

Deno.test("page of gateway dev can call only the gateway and the identity providers", async () => {
  await using playground = await openPlayground();
  const { page } = playground;
  let calls = 0;
  await using otherServer = Deno.serve(
    { port: 0, onListen() {} },
    () => {
      calls++;
      return new Response("", {
        headers: { "access-control-allow-origin": "*" },
      });
    },
  );

  const complained = page.waitForEvent("console", {
    predicate: (message) => /Content Security Policy/.test(message.text()),
  });
  const outcome = await page.evaluate(
    (url) => fetch(url).catch((error) => String(error)),
    `http://127.0.0.1:${otherServer.addr.port}/`,
  );

  assert.match(String(outcome), /Failed to fetch/);
  await complained;
  assert.equal(calls, 0);
});

interface OpenPlayground extends AsyncDisposable {
  readonly page: Page;
  /** Console output of the browser, except statuses of responses. */
  readonly complaints: string[];
}

/** `gateway dev` with its page open in a browser. */
async function openPlayground(
  options: BrowserContextOptions = {},
): Promise<OpenPlayground> {
  await using opening = new AsyncDisposableStack();
  const command = opening.use(startCommand({
    args: [
      "dev",
      "--port",
      `${freePort()}`,
      "--admin",
      "off",
      "--stats",
      "off",
    ],
  }));
  await command.waitFor(/Press Ctrl-C to stop/);
  const [url = ""] =
    /http:\/\/127\.0\.0\.1:\d+\/(?=\n)/.exec(command.stdout()) ??
      [];
  const { page } = opening.use(await openPage(options));
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (!message.text().startsWith("Failed to load resource")) {
      complaints.push(message.text());
    }
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(url);
  const open = opening.move();
  return {
    page,
    complaints,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

async function outcomeOf(page: Page): Promise<string> {
  const outcome = page.getByRole("status").filter({
    hasText: /^(Done|Denied|Failed)/,
  });
  return (await outcome.innerText()).trim();
}

/** `Token 200 OK`, for each step, or for those of a tone. */
async function titlesOf(page: Page, tone = ""): Promise<string[]> {
  const texts = await page.locator(`#steps ${tone} summary`).allInnerTexts();
  return texts.map((text) => text.replaceAll(/\s+/g, " ").trim());
}
