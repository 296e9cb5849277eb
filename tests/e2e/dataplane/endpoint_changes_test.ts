/** Endpoints of services that change while the configuration stays. */
import assert from "node:assert/strict";
import { Gateway } from "../../../src/gateway/gateway.ts";
import {
  ChangingObjects,
  readObjects,
} from "../../harness/gateway/changing_objects.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { LogLines } from "../../harness/telemetry/log_lines.ts";
import { breakWorker } from "../../harness/gateway/worker_faults.ts";

const DEADLINE_MS = 20_000;

function startUpstream(name: string) {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(name),
  );
}

function resources(port: number, slices: readonly string[]): string {
  return `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: gw }
spec:
  addresses: [{ value: 127.0.0.1 }]
  listeners: [{ name: http, port: ${port}, protocol: HTTP }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: r }
spec:
  parentRefs: [{ name: gw }]
  rules: [{ backendRefs: [{ name: web, port: 80 }] }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ name: http, port: 80 }] }
${slices.join("")}`;
}

function slice(port: number): string {
  return `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [127.0.0.1] }]
ports: [{ name: http, port: ${port} }]
`;
}

/** Sends requests until one gets this response. */
async function untilResponse(port: number, expected: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  let found = "";
  while (found !== expected) {
    assert(Date.now() < deadline, `expected ${expected}, got ${found}`);
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      headers: { connection: "close" },
    });
    const text = await response.text();
    found = response.ok ? text : String(response.status);
  }
}

for (const workers of [1, 2]) {
  Deno.test(`changed endpoints get the next requests without a new configuration, workers: ${workers}`, async () => {
    await using first = startUpstream("first");
    await using second = startUpstream("second");
    const port = freePort();
    const log = new LogLines();
    const objects = new ChangingObjects({ workers });
    objects.replace(
      await readObjects(resources(port, [slice(first.addr.port)])),
    );
    const writeLog = (lines: string) => {
      for (const line of lines.trimEnd().split("\n")) log.add(line);
    };
    await using gateway = await Gateway.start({
      config: objects,
      writeLog,
      workers: {
        entry: new URL(
          "../../harness/gateway/faulty_worker.ts",
          import.meta.url,
        ),
        writeLog: (lines) => Promise.resolve(writeLog(lines)),
        writeAccessLog: () => Promise.resolve(),
        onLost: () => {},
      },
    });
    const reloads = async () =>
      await gateway.dataPlane.call(
        "collectMetrics",
        new Set(["gateway_config_reloads_total"]),
      );
    await untilResponse(port, "first");
    const before = await reloads();

    const { endpointSlices } = await readObjects(
      resources(port, [slice(second.addr.port)]),
    );
    objects.replaceEndpoints(new Map([["default/web", endpointSlices]]));
    await untilResponse(port, "second");

    if (workers > 1) {
      breakWorker(1, "exit");
      await log.next(/Worker replaced/);
      for (let i = 0; i < 10; i++) await untilResponse(port, "second");
    }

    objects.replaceEndpoints(new Map([["default/web", []]]));
    await untilResponse(port, "503");
    assert.equal(await reloads(), before);

    objects.replace(
      await readObjects(resources(port, [slice(first.addr.port)])),
    );
    await untilResponse(port, "first");
    // A worker serves the new configuration before all have it, which is when the reload counts.
    const deadline = Date.now() + DEADLINE_MS;
    while (await reloads() === before) assert(Date.now() < deadline);
  });
}
