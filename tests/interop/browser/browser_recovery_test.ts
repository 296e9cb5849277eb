/** The web UI while a worker ends, and while the configuration changes under load. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import {
  expectQuiet,
  openUi,
  showView,
} from "../../harness/browser/ui_page.ts";
import { replaceFile } from "../../harness/gateway/file_gateway.ts";
import {
  configFor,
  GatewayProcess,
} from "../../harness/gateway/gateway_process.ts";
import { startTracedGateway } from "../../harness/gateway/traced_gateway.ts";
import { breakWorker } from "../../harness/gateway/worker_faults.ts";
import { until } from "../../harness/servers/held_upstream.ts";

/** Requests after a worker has ended. */
const COUNT = 20;
/** The last one adds a route. */
const RELOADS = 5;

function routeOf(name: string) {
  return {
    name,
    matches: [{ path: { type: "PathPrefix", value: `/${name}` } }],
    policies: { directResponse: { status: 200, body: name } },
  };
}

/** Sends a request on a connection of its own. */
async function get(url: string): Promise<void> {
  await (await fetch(url, { headers: { connection: "close" } })).text();
}

/** Sends requests to paths in turns until disposed; connections that are cut do not matter. */
function sendTo(origin: string, paths: readonly string[]): AsyncDisposable {
  let isDone = false;
  const send = async () => {
    for (let count = 0; !isDone; count++) {
      try {
        await get(`${origin}${paths[count % paths.length]}`);
      } catch (error) {
        // The worker of the connection has ended.
        assert(error instanceof TypeError);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const sending = Promise.all([send(), send()]);
  return {
    async [Symbol.asyncDispose]() {
      isDone = true;
      await sending;
    },
  };
}

Deno.test("the pages go on when a worker ends under load, and show all requests of the one in its place", async () => {
  await using gateway = await startTracedGateway({
    config: { workers: 2 },
    routes: [routeOf("hello")],
  }, {
    workerEntry: new URL(
      "../../harness/gateway/faulty_worker.ts",
      import.meta.url,
    ),
  });
  await using requests = await openUi(`${gateway.admin}/ui/#requests`);
  await using trace = await openUi(`${gateway.admin}/ui/#trace`);
  await using _load = sendTo(gateway.origin, ["/hello/load"]);
  await newestRequest(requests.page).filter({ hasText: "/hello/load" })
    .waitFor();
  await trace.page.getByLabel("Filter (CEL)")
    .fill('request.path == "/hello/traced"');
  await trace.page.getByRole("spinbutton", { name: "Requests" })
    .fill(String(COUNT));
  await trace.page.getByRole("button", { name: "Trace" }).click();
  await trace.page.getByText("Waiting for matching requests.").waitFor();

  breakWorker(1, "exit");
  await until(() => gateway.log.join("\n").includes("Worker replaced"));

  // The system chooses the worker: all connections have the same once in 2^19 times. All failures are recorded.
  for (let index = 0; index < COUNT; index++) {
    await get(`${gateway.origin}/after`);
  }
  // A request that begins before the end of the one before is not traced.
  const done = trace.page.getByText(`Done: ${COUNT} requests traced.`);
  await using _traced = sendTo(gateway.origin, ["/hello/traced"]);
  await done.waitFor();
  await requests.page.getByRole("searchbox", { name: "Search" })
    .fill("/after");
  await requests.page.getByText(`${COUNT} requests`, { exact: true }).waitFor();
  for (const name of ["Overview", "Traffic", "Topology", "Tasks"]) {
    await showView(requests.page, name);
  }
  expectQuiet(requests, gateway.admin);
  expectQuiet(trace, gateway.admin);
});

Deno.test("the pages show a configuration that is applied under load, and go on", async () => {
  const config = (names: readonly string[]) => ({
    config: { workers: 2, accessLog: { enabled: false } },
    routes: names.map(routeOf),
  });
  await using gateway = await GatewayProcess.start({
    config: config(["first"]),
  });
  await using requests = await openUi(`${gateway.admin}/ui/#requests`);
  await using topology = await openUi(`${gateway.admin}/ui/#topology`);
  await using _load = sendTo(gateway.origin, ["/first", "/second"]);
  const newest = newestRequest(requests.page);
  await newest.filter({ hasText: "404" }).waitFor();
  const routes = topology.page.getByRole("listbox", { name: "Routes" });
  await routes.getByRole("option", { name: /first/ }).waitFor();

  for (let turn = 0; turn < RELOADS; turn++) {
    const names = turn % 2 === 0 ? ["first", "second"] : ["first"];
    await replaceFile(gateway.file, configFor(gateway.port, config(names)));
    await gateway.log.next(/Configuration applied/);
  }

  await routes.getByRole("option", { name: /second/ }).waitFor();
  await newest.filter({ hasText: /200.*\/second/s }).waitFor();
  await showView(topology.page, "Traffic");
  await topology.page.getByRole("table", { name: "Traffic by route" })
    .getByRole("row", { name: /second/ }).waitFor();
  expectQuiet(requests, gateway.admin);
  expectQuiet(topology, gateway.admin);
});

function newestRequest(page: Page) {
  return page.getByRole("listbox", { name: "Requests, newest first" })
    .getByRole("option").first();
}
