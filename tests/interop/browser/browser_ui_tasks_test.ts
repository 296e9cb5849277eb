import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { startLlmServer } from "../../../cli/dev/llm_server.ts";
import { startMcpServer } from "../../../cli/dev/mcp_server.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import { openUi } from "../../harness/browser/ui_page.ts";

/** Questions of an operator who sees the web UI for the first time; each answer is some clicks away from the first page. */
interface Task {
  readonly question: string;
  /** Clicks that suffice. */
  readonly clicks: number;
  /** Finds the answer. */
  readonly run: (user: User) => Promise<void>;
}

/** A user whose clicks are counted. */
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

  open(name: string): Promise<void> {
    const link = this.page.getByRole("navigation")
      .getByRole("link", { name, exact: true });
    return this.click(link);
  }

  sees(text: string | RegExp): Promise<void> {
    return this.page.getByRole("main").getByText(text).first().waitFor();
  }
}

const tasks: readonly Task[] = [
  {
    question: "Which team burnt the tokens?",
    clicks: 2,
    async run(user) {
      await user.open("Limits");
      await user.click(user.page.getByRole("tab", { name: "Usage" }));
      const first = user.page.getByRole("table", { name: "Usage by key" })
        .getByRole("row").nth(1);
      await first.getByText("blue").waitFor();
      const share = first.getByRole("meter").locator("span");
      const { width = 0 } = await share.boundingBox() ?? {};
      assert(width > 20, `the largest share is ${width} px wide`);
    },
  },
  {
    question: "Why was this 403?",
    clicks: 2,
    async run(user) {
      await user.open("Failures");
      await user.click(user.page.getByRole("link", { name: /secret/ }).first());
      await user.sees(/request\.method == 'PUT'/);
    },
  },
  {
    question: "Is my new CEL rule right?",
    clicks: 2,
    async run(user) {
      await user.open("Playground");
      await user.click(user.page.getByRole("tab", { name: "Expression" }));
      await user.page.getByRole("textbox", { name: "Expression" })
        .fill("'editor' in jwt.roles");
      await user.page.getByRole("row", { name: '"editor" in jwt.roles true' })
        .waitFor();
    },
  },
  {
    question: "What happens to a request, step by step?",
    clicks: 2,
    async run(user) {
      await user.open("Requests");
      await user.click(
        user.page.getByRole("option", { name: /secret/ }).first(),
      );
      await user.sees("Recorded steps");
    },
  },
  {
    question:
      "Which policies does this route have, and where do they come from?",
    clicks: 2,
    async run(user) {
      await user.open("Topology");
      await user.click(
        user.page.getByRole("listbox", { name: "Routes" })
          .getByRole("option", { name: /secret/ }),
      );
      await user.page.getByRole("table", { name: "Policies in force" })
        .getByRole("row", { name: /authorization.*secret/ }).waitFor();
    },
  },
  {
    question: "How much of the budget is left?",
    clicks: 1,
    async run(user) {
      await user.open("Limits");
      await user.sees(/\d of 1,000 tokens left/);
    },
  },
  {
    question: "Is this change of the configuration valid?",
    clicks: 1,
    async run(user) {
      await user.open("Configuration");
      const editor = user.page.getByRole("textbox", { name: /^Source of/ });
      await editor.press("ControlOrMeta+a");
      await user.page.keyboard.insertText("routes: [{ nmae: a }]");
      await user.sees("name");
    },
  },
  {
    question: "Does this tool work through the gateway?",
    clicks: 3,
    async run(user) {
      await user.open("Playground");
      await user.click(user.page.getByRole("button", { name: "Connect" }));
      await user.page.getByLabel("message").fill("Hello");
      await user.click(user.page.getByRole("button", { name: "Call echo" }));
      await user.page.getByRole("region", { name: "Result of the tool" })
        .getByText("Hello").waitFor();
    },
  },
  {
    question: "What is slow?",
    clicks: 1,
    async run(user) {
      await user.open("Traffic");
      await user.page.getByRole("table", { name: "Traffic by route" })
        .getByRole("row", { name: /llm/ }).waitFor();
    },
  },
  {
    question: "What does the gateway say about it? Log more.",
    clicks: 2,
    async run(user) {
      await user.open("Logging");
      await user.page.getByRole("combobox").selectOption("debug");
      await user.click(
        user.page.getByRole("button", { name: "Set", exact: true }),
      );
      await user.page.getByRole("row", { name: "(default) debug" }).waitFor();
    },
  },
];

Deno.test("ten questions of a new user are answered within three clicks each", async () => {
  await using servers = new AsyncDisposableStack();
  const llm = servers.adopt(
    startLlmServer({ clock: systemClock }),
    (server) => server.close(),
  );
  const mcp = servers.adopt(startMcpServer(), (server) => server.close());
  await using gateway = await startTracedGateway({
    routes: routesTo(new URL(llm.origin).host, new URL(mcp.origin).host),
  });
  await sendTraffic(gateway.origin);
  await using ui = await openUi(`${gateway.admin}/ui`);

  for (const { question, clicks, run } of tasks) {
    await ui.page.goto(`${gateway.admin}/ui/#overview`);
    await ui.page.reload();
    await ui.page.getByText("Total requests").waitFor();
    const user = new User(ui.page);
    await run(user);
    assert.equal(user.clicks, clicks, question);
  }
});

function routesTo(llm: string, mcp: string) {
  const at = (value: string) => [{ path: { type: "PathPrefix", value } }];
  return [
    {
      name: "llm",
      matches: at("/v1"),
      backends: [{ host: llm }],
      policies: {
        apiKeyAuthentication: {
          keys: ["blue", "green"].map((team) => ({
            key: `key-of-${team}`,
            metadata: { team },
          })),
        },
        rateLimit: {
          local: [{ tokens: 1000, unit: "Days", key: "apiKey.team" }],
        },
      },
    },
    { name: "mcp", matches: at("/mcp"), backends: [{ host: mcp }] },
    {
      name: "secret",
      matches: at("/secret"),
      policies: {
        authorization: {
          policy: { matchExpressions: ["request.method == 'PUT'"] },
        },
        directResponse: { status: 200 },
      },
    },
  ];
}

async function sendTraffic(origin: string): Promise<void> {
  await (await fetch(`${origin}/secret`)).text();
  const teams = ["green", "blue", "blue", "blue"];
  for (const team of teams) {
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer key-of-${team}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({
        model: "gpt-4o",
        messages: [{ role: "user", content: "Hello" }],
      }),
    });
    await response.text();
  }
}
