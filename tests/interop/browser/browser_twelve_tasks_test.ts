import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { GatewayProcess } from "../../harness/gateway/gateway_process.ts";
import {
  startTeamSite,
  type TeamSite,
} from "../../harness/browser/team_site.ts";
import { openUi } from "../../harness/browser/ui_page.ts";

/** Most clicks that a task may take. */
const MOST = 5;

/** A user whose clicks are counted; typing is free. */
class User {
  readonly page: Page;
  clicks = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    await target.click();
    this.clicks++;
  }

  /** Opens a page by the navigation. */
  open(name: string): Promise<void> {
    return this.click(
      this.page.getByRole("navigation")
        .getByRole("link", { name, exact: true }),
    );
  }

  press(name: string | RegExp): Promise<void> {
    return this.click(
      this.page.getByRole("button", { name, exact: true }).first(),
    );
  }

  /** Chooses from a list, which takes two clicks with a mouse. */
  async choose(label: string, value: string): Promise<void> {
    await this.page.getByRole("combobox", { name: label }).selectOption(value);
    this.clicks += 2;
  }

  sees(text: string | RegExp): Promise<void> {
    return this.page.getByRole("main").getByText(text).first().waitFor();
  }

  /** Replaces a part of the source of the configuration. */
  async edit(change: (text: string) => string, site: TeamSite): Promise<void> {
    const text = await Deno.readTextFile(site.gateway.file);
    const editor = this.page.getByRole("textbox", { name: /^Source of/ });
    await editor.press("ControlOrMeta+a");
    await this.page.keyboard.insertText(
      change(text).replace("0123456789abcdef", "<redacted 1>")
        .replace("of-the-provider", "<redacted 2>"),
    );
  }
}

interface Task {
  /** As in the table of `docs/web_ui.md`. */
  readonly name: string;
  readonly run: (user: User, site: TeamSite) => Promise<void>;
}

/** In an order in which none disturbs a later one. */
const tasks: readonly Task[] = [
  {
    name: "Who used the tokens, by team",
    async run(user) {
      await user.click(user.page.getByRole("link", { name: "Show usage" }));
      const first = user.page.getByRole("table", { name: "Usage by team" })
        .getByRole("row").nth(1);
      await first.getByText("red").waitFor();
    },
  },
  {
    name: "Why a request got 403, with the values",
    async run(user) {
      await user.open("Failures");
      await user.click(
        user.page.getByRole("link", { name: /chat\/completions/ }).first(),
      );
      await user.sees(
        /Key search \(team blue\) may not use model "o1"; allowed: gpt-4o/,
      );
    },
  },
  {
    name: "A slow backend",
    async run(user) {
      await user.open("Traffic");
      await user.press("Backend");
      const row = user.page.getByRole("table", { name: "Traffic by backend" })
        .getByRole("row", { name: /reports/ });
      await row.getByText(/\d{3} ms|\d s/).first().waitFor();
    },
  },
  {
    name: "The cost of this month",
    async run(user) {
      await user.click(user.page.getByRole("link", { name: "Show usage" }));
      const time = user.page.getByRole("combobox", { name: "Time" });
      const months = await time.getByRole("option", { name: /^This month/ })
        .getAttribute("value");
      await user.choose("Time", months ?? "");
      await user.sees("$0.00");
    },
  },
  {
    name: "Who is connected",
    async run(user, { gateway }) {
      using socket = await Deno.connect({ port: gateway.port });
      assert(socket.localAddr.transport === "tcp");
      await user.open("Connections");
      await user.sees(`127.0.0.1:${socket.localAddr.port}`);
    },
  },
  {
    name: "A key for a new team with a budget",
    async run(user) {
      const { page } = user;
      await user.open("Keys");
      await page.getByRole("textbox", { name: "New team" }).fill("green");
      await page.getByRole("textbox", { name: "Budget" }).fill("50usd/month");
      await user.press("Create team");
      await page.getByRole("table", { name: "Teams" })
        .getByText("50 usd/month").waitFor();
      await user.press("Create key");
      await page.getByRole("region", { name: "New key" }).waitFor();
      await page.getByRole("table", { name: "API keys" })
        .getByRole("row", { name: /green/ }).waitFor();
    },
  },
  {
    name: "Rotate a key",
    async run(user) {
      await user.open("Keys");
      await user.click(
        user.page.getByRole("button", { name: /^Rotate ci-bot/ }),
      );
      await user.page.getByRole("region", { name: "New key" }).waitFor();
    },
  },
  {
    name: "A rule, tried on past traffic",
    async run(user, site) {
      await user.open("Configuration");
      await user.edit(
        (text) => text.replace("request.method == 'PUT'", "true"),
        site,
      );
      await user.press("Try on the last 1,000 requests");
      await user.page.getByRole("table", { name: "Requests that would change" })
        .getByRole("row", { name: /admitted GET \/admins/ }).waitFor();
    },
  },
  {
    name: "A limit, by form",
    async run(user) {
      await user.open("Configuration");
      await user.press("Limit");
      const form = user.page.getByRole("form", { name: "Limit" });
      await form.getByLabel("At most").fill("1000");
      await user.press("Show the lines");
      await user.press("Apply");
      await user.sees("Applied.");
    },
  },
  {
    name: "Running against the file",
    async run(user) {
      await user.open("Configuration");
      await user.press("Compare with the files");
      await user.sees("The files are in force as they are.");
    },
  },
  {
    name: "Back to an earlier configuration",
    async run(user) {
      await user.open("Configuration");
      await user.press("Compare");
      await user.click(
        user.page.getByRole("button", { name: /^Go back to/ }),
      );
      await user.sees("It is in force again.");
    },
  },
];

const wizard = "A provider, by the wizard";

Deno.test("twelve tasks of a platform team take at most five clicks each, as the documents say", async () => {
  await using site = await startTeamSite();
  await using ui = await site.open("#overview");
  const clicks = new Map<string, number>();
  for (const { name, run } of tasks) {
    await ui.page.goto(`${site.gateway.admin}/ui/#overview`);
    await ui.page.reload();
    await ui.page.getByText("Total requests").waitFor();
    const user = new User(ui.page);
    await run(user, site);
    clicks.set(name, user.clicks);
  }
  clicks.set(wizard, await addProvider());

  for (const [name, count] of clicks) {
    assert(count <= MOST, `${name}: ${count}`);
  }
  assert.deepEqual(await documented(), clicks);
});

/** Adds the first provider to a gateway without routes, with the keyboard alone; returns how often Enter was pressed. */
async function addProvider(): Promise<number> {
  const adminToken = "0123456789abcdef";
  await using gateway = await GatewayProcess.start({
    config: { config: { adminToken } },
    env: { OPENAI_API_KEY: "planted-provider-key" },
  });
  await using ui = await openUi(`${gateway.admin}/ui/#overview`);
  const { page } = ui;
  await page.getByRole("dialog").getByLabel("Token").fill(adminToken);
  await page.keyboard.press("Enter");
  const keys = new Keyboard(page);

  await keys.enter(
    page.getByRole("link", { name: /^Add your first provider/ }),
  );
  await page.getByRole("form", { name: "LLM provider" }).waitFor();
  await keys.enter(page.getByRole("button", { name: "Show the lines" }));
  const apply = page.getByRole("button", { name: "Apply", exact: true });
  await page.getByRole("list", { name: "What changes" }).waitFor();
  await keys.enter(apply);
  await page.getByText("Applied.").waitFor();

  assert.match(await Deno.readTextFile(gateway.file), /provider: OpenAI/);
  return keys.count;
}

/** Goes to controls by Tab, and presses Enter. */
class Keyboard {
  readonly #page: Page;
  count = 0;

  constructor(page: Page) {
    this.#page = page;
  }

  async enter(target: Locator): Promise<void> {
    await target.waitFor();
    for (let steps = 0; steps < 60; steps++) {
      const isThere = await target.evaluate((element) =>
        element === element.ownerDocument.activeElement
      );
      if (isThere) {
        await this.#page.keyboard.press("Enter");
        this.count++;
        return;
      }
      await this.#page.keyboard.press("Tab");
    }
    throw new Error("Tab does not lead to it");
  }
}

/** Reads the table of tasks in the documents: each with its clicks. */
async function documented(): Promise<ReadonlyMap<string, number>> {
  const file = new URL("../../../docs/web_ui.md", import.meta.url);
  const text = await Deno.readTextFile(file);
  const [, section = ""] = text.split("## Twelve tasks");
  const rows = section.matchAll(/^\| ([^|]*[a-z0-9]) +\| (\d) /gm);
  return new Map(
    [...rows].map(([, name = "", clicks]) => [name, Number(clicks)]),
  );
}
