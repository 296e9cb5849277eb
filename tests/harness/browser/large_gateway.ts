import type { Page } from "playwright-core";
import { GatewayProcess } from "../gateway/gateway_process.ts";
import { storeManyKeys } from "../keys/many_keys.ts";

/** Sizes of a large gateway. */
export interface LargeSizes {
  readonly routes: number;
  /** Keys in its store, of 500 teams. */
  readonly keys: number;
}

/** A gateway with many routes, of two policies each, and many keys. */
export interface LargeGateway extends AsyncDisposable {
  readonly process: GatewayProcess;
}

/** Starts a gateway whose routes respond at `/r/0`, `/r/1` and so on; every twentieth responds with 503. */
export async function startLargeGateway(
  { routes, keys }: LargeSizes,
): Promise<LargeGateway> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/keys.db`;
  await storeManyKeys(path, keys);
  const process = await GatewayProcess.start({
    config: {
      config: { accessLog: { enabled: false }, kv: { path } },
      routes: [
        ...Array.from({ length: routes }, (_, index) => ({
          name: `route-${index}`,
          matches: [{ path: { type: "PathPrefix", value: `/r/${index}` } }],
          policies: {
            directResponse: {
              status: index % 20 === 0 ? 503 : 200,
              body: "ok",
            },
            rateLimit: { local: [{ requests: 1000, unit: "Seconds" }] },
          },
        })),
        {
          name: "keyed",
          matches: [{ path: { type: "PathPrefix", value: "/keyed" } }],
          policies: {
            apiKeyAuthentication: { stored: true },
            directResponse: { status: 200, body: "ok" },
          },
        },
      ],
    },
  });
  return {
    process,
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Sends requests to all routes at a steady rate until disposed. */
export function sendLive(
  { process: { origin } }: LargeGateway,
  { routes }: Pick<LargeSizes, "routes">,
  perSecond: number,
): AsyncDisposable {
  let count = 0;
  const pending = new Set<Promise<void>>();
  const send = async () => {
    const response = await fetch(`${origin}/r/${count++ * 7 % routes}/x`);
    // A body that is cancelled ends its connection, which another request may have chosen.
    await response.text();
  };
  const timer = setInterval(() => {
    const sent = send().finally(() => pending.delete(sent));
    pending.add(sent);
  }, 1000 / perSecond);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await Promise.all(pending);
    },
  };
}

/** Waits for the content of a page of a large gateway, by the title of the page. */
export const contentOf: Readonly<
  Record<string, (page: Page) => Promise<void>>
> = {
  Overview: (page) => page.getByText("Total requests").waitFor(),
  Traffic: (page) => waitForRow(page, "Traffic by route"),
  Requests: (page) => page.getByRole("option").first().waitFor(),
  Trace: (page) => page.getByLabel("Filter (CEL)").waitFor(),
  Failures: (page) => waitForRow(page, "Failed requests, newest first"),
  Topology: (page) =>
    page.getByRole("option", { name: /route-/ }).first().waitFor(),
  Configuration: (page) =>
    page.getByRole("textbox", { name: /^Source of/ }).waitFor(),
  Playground: (page) => page.getByLabel("Route", { exact: true }).waitFor(),
  "MCP servers": (page) =>
    page.getByText("No backend has MCP servers").waitFor(),
  Limits: (page) => page.getByRole("meter").first().waitFor(),
  Keys: (page) => waitForRow(page, "API keys"),
  Accounts: (page) => page.getByText("No logins").waitFor(),
  Logging: (page) => waitForRow(page, "Active log levels"),
  Memory: (page) => waitForRow(page, "Stores"),
  Connections: (page) => page.getByRole("table").first().waitFor(),
  Tasks: (page) => page.locator(".stat").first().waitFor(),
  Profiles: (page) =>
    page.getByRole("button", { name: "Heap profile" }).waitFor(),
};

function waitForRow(page: Page, table: string): Promise<void> {
  return page.getByRole("table", { name: table }).locator("tbody tr").first()
    .waitFor();
}
