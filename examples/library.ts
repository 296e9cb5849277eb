/**
 * Runs a gateway in this process: applies Gateway API resources, traces a request, replaces the configuration, reads metrics.
 *
 *   deno run -A examples/library.ts
 *   PORT=8081 deno run -A examples/library.ts
 */
// deno-lint-ignore-file no-console -- the example prints what it does
import { ConfigurationError, startGateway } from "../mod.ts";

const port = Number(Deno.env.get("PORT") ?? "8080");
const url = `http://127.0.0.1:${port}/`;

/** The resources of a gateway that responds with a fixed status and body. */
function resources(directResponse: { status: number; body: string }) {
  return [
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "Gateway",
      metadata: { name: "default" },
      spec: {
        gatewayClassName: "gateway",
        listeners: [
          { name: "http", port, protocol: "HTTP", address: "127.0.0.1" },
        ],
      },
    },
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "hello" },
      spec: { parentRefs: [{ name: "default" }], rules: [{}] },
    },
    {
      apiVersion: "policy.gateway.internal/v1alpha1",
      kind: "GatewayPolicy",
      metadata: { name: "hello" },
      spec: {
        targetRefs: [{ kind: "HTTPRoute", name: "hello" }],
        traffic: { directResponse },
      },
    },
  ];
}

await using gateway = await startGateway({
  config: resources({ status: 200, body: "one" }),
});
for (const address of await gateway.addresses()) {
  console.log(`listening on ${address.hostname}:${address.port}`);
}

const trace = await gateway.traces({ count: 1 });
console.log(`response: ${await (await fetch(url)).text()}`);
for await (const { message } of trace) console.log(`trace: ${message["type"]}`);

await gateway.apply(resources({ status: 200, body: "two" }));
console.log(`response: ${await (await fetch(url)).text()}`);

try {
  await gateway.apply(resources({ status: 99, body: "never" }));
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.log(`rejected: ${error.diagnostics[0]?.message}`);
}
console.log(`in force since ${gateway.status().appliedAt}`);

const metrics = await gateway.metrics();
console.log(/^gateway_requests_total.*$/m.exec(metrics)?.[0]);
