import assert from "node:assert/strict";
import { textSource } from "../../../mod.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { toOpenMetrics } from "../../../src/telemetry/metrics/open_metrics.ts";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  alertsFile,
  completed,
  dashboardQueries,
} from "../../harness/servers/monitoring.ts";

const decoder = new TextDecoder();

async function promtool(...args: readonly string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command("promtool", {
    args: [...args],
  }).output();
  assert(success, decoder.decode(stdout) + decoder.decode(stderr));
}

Deno.test("promtool accepts the alert rules, and each fires on its condition only", async () => {
  const folder = await Deno.makeTempDir();
  const tests = new URL(
    "../../fixtures/monitoring/alerts_test.yaml",
    import.meta.url,
  );
  await Deno.copyFile(alertsFile, `${folder}/alerts.yaml`);
  await Deno.copyFile(tests, `${folder}/alerts_test.yaml`);

  await promtool("check", "rules", `${folder}/alerts.yaml`);
  await promtool("test", "rules", `${folder}/alerts_test.yaml`);

  await Deno.remove(folder, { recursive: true });
});

/** A streamed chat. */
const events = [
  { model: "gpt-4o-mini", choices: [{ delta: { content: "Hello" } }] },
  {
    model: "gpt-4o-mini",
    choices: [],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 40 },
    },
  },
];

/** Serves what the gateway of the test needs: an LLM, and a page that fails every other time. */
function startUpstream() {
  let calls = 0;
  return serveLoopback(0, async (request) => {
    await request.text();
    if (new URL(request.url).pathname.startsWith("/v1/")) {
      const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
      return new Response(text.join("") + "data: [DONE]\n\n", {
        headers: { "content-type": "text/event-stream" },
      });
    }
    return calls++ % 2 === 0
      ? new Response("busy", { status: 503 })
      : new Response("hello");
  });
}

async function startTarget(
  folder: string,
  upstreamOrigin: string,
  collector: string,
) {
  const { host } = new URL(upstreamOrigin);
  const dead = `127.0.0.1:${freePort()}`;
  const [port, securePort] = [freePort(), freePort()];
  const server = await (await createAuthority("Test CA")).issueServer([
    "gateway.example",
  ]);
  await Deno.writeTextFile(`${folder}/tls.crt`, server.cert);
  await Deno.writeTextFile(`${folder}/tls.key`, server.key);
  const under = (value: string) => [{ path: { type: "PathPrefix", value } }];
  const gateway = await Gateway.start({
    config: textSource(JSON.stringify({
      config: {
        tracing: {},
        workers: 1,
        otlp: { endpoint: collector },
        accessLog: { format: "otlp" },
        adminAddr: "off",
        statsAddr: "off",
      },
      gateways: {
        default: { port, address: "127.0.0.1" },
        secure: {
          port: securePort,
          address: "127.0.0.1",
          protocol: "HTTPS",
          tls: { cert: `${folder}/tls.crt`, key: `${folder}/tls.key` },
        },
      },
      routes: [
        {
          name: "retried",
          gateways: ["default"],
          matches: under("/retried"),
          backends: [{ host }],
          retry: { attempts: 1, codes: [503], backoff: "1ms" },
        },
        {
          name: "failing-over",
          gateways: ["default"],
          matches: under("/over"),
          backends: [
            { host: dead, priority: 0 },
            { host, priority: 1 },
          ],
        },
        {
          name: "dead",
          gateways: ["default"],
          matches: under("/dead"),
          backends: [{ host: dead }],
        },
        {
          name: "limited",
          gateways: ["default"],
          matches: under("/limited"),
          backends: [{ host }],
          policies: {
            rateLimit: { local: [{ requests: 1, unit: "Hours" }] },
          },
        },
        {
          name: "llm",
          gateways: ["default"],
          matches: under("/v1"),
          backends: [{ host }],
        },
      ],
    })),
  });
  return { gateway, origin: `http://127.0.0.1:${port}` };
}

async function sendTraffic(origin: string): Promise<void> {
  for (const path of ["/retried", "/over", "/dead", "/limited", "/nowhere"]) {
    await (await fetch(origin + path)).text();
  }
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "gpt-4o-mini",
      stream: true,
      stream_options: { include_usage: true },
      messages: [],
    }),
  });
  await response.text();
}

/** Starts Prometheus; resolves when it responds. */
async function startPrometheus(folder: string, target: string) {
  const port = freePort();
  const config = {
    global: { scrape_interval: "250ms", scrape_timeout: "250ms" },
    rule_files: [alertsFile],
    scrape_configs: [{
      job_name: "gateway",
      static_configs: [{ targets: [target] }],
    }],
  };
  await Deno.writeTextFile(`${folder}/prometheus.yaml`, JSON.stringify(config));
  const child = new Deno.Command("prometheus", {
    args: [
      `--config.file=${folder}/prometheus.yaml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    stdout: "null",
    stderr: "null",
  }).spawn();
  return {
    /** Returns the samples of a query. */
    async query(expr: string): Promise<readonly string[]> {
      const url = new URL(`http://127.0.0.1:${port}/api/v1/query`);
      url.searchParams.set("query", expr);
      const response = await fetch(url).catch(() => undefined);
      // It listens before it is ready.
      if (response === undefined || response.status === 503) {
        await response?.body?.cancel();
        return [];
      }
      const { status, data, error } = await response.json();
      assert.equal(status, "success", `${expr}: ${error}`);
      return data.result.map(({ value: [, value] }: { value: string[] }) =>
        value
      );
    },
    async stop() {
      child.kill("SIGKILL");
      await child.status;
    },
  };
}

/** Serves the metrics of a gateway with exemplars, as Prometheus gets them from the gateway. */
function serveMetrics({ dataPlane }: Gateway) {
  return serveLoopback(
    0,
    async () =>
      new Response(toOpenMetrics(await dataPlane.call("readMetrics")), {
        headers: {
          "content-type":
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        },
      }),
  );
}

/** Time for all queries to have data, with room for a slow machine. */
const LIMIT_MS = 60_000;

Deno.test("every query of the dashboard has data once a real Prometheus has scraped a gateway", async () => {
  const folder = await Deno.makeTempDir();
  const upstream = startUpstream();
  const collector = serveLoopback(0, () => new Response(null, { status: 400 }));
  const { gateway, origin } = await startTarget(
    folder,
    upstream.origin,
    collector.origin,
  );
  const stats = serveMetrics(gateway);
  const prometheus = await startPrometheus(
    folder,
    new URL(stats.origin).host,
  );
  let left = [...await dashboardQueries()];
  const deadline = performance.now() + LIMIT_MS;
  while (left.length > 0 && performance.now() < deadline) {
    await sendTraffic(origin);
    await gateway.reload();
    await new Promise((resolve) => setTimeout(resolve, 250));
    const open = [];
    for (const query of left) {
      const values = await prometheus.query(completed(query, "10s"));
      if (!values.some((value) => value !== "NaN")) open.push(query);
    }
    left = open;
  }
  await prometheus.stop();
  await stats.close();
  await gateway.stop(0);
  await upstream.close();
  await collector.close();
  await Deno.remove(folder, { recursive: true });

  assert.deepEqual(left, []);
});
