import assert from "node:assert/strict";
import { startGateway } from "../../../mod.ts";
import { serveLoopback } from "../../../cli/dev/loopback_server.ts";
import { createAuthority } from "../../harness/login/certificates.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";

Deno.test("requests in flight are those whose responses are not delivered", async () => {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const upstream = serveLoopback(0, async () => {
    arrived.resolve();
    await release.promise;
    return new Response("done");
  });
  await using test = await startTestGateway({
    config: { workers: 1 },
    routes: [{ backends: [{ host: new URL(upstream.origin).host }] }],
  });
  const read = async () => {
    const text = await test.gateway.dataPlane.call("collectMetrics");
    return /^gateway_requests_in_flight (\d+)$/m.exec(text)?.[1];
  };
  assert.equal(await read(), "0");

  const response = fetch(test.origin);
  await arrived.promise;
  assert.equal(await read(), "1");

  release.resolve();
  await (await response).text();
  await upstream.close();
  await test.gateway.stop();
  assert.equal(await read(), "0");
});

Deno.test("the expiry of certificates is that of the certificate, for each hostname", async () => {
  const folder = await Deno.makeTempDir();
  const authority = await createAuthority("Test CA");
  const { cert, key } = await authority.issueServer(["a.example", "b.example"]);
  await Deno.writeTextFile(`${folder}/tls.crt`, cert);
  await Deno.writeTextFile(`${folder}/tls.key`, key);
  const port = freePort();
  const before = Date.now() / 1000;
  let text: string;
  {
    await using gateway = await startGateway({
      config: {
        config: { adminAddr: "off", statsAddr: "off" },
        gateways: {
          secure: {
            port,
            protocol: "HTTPS",
            listeners: ["a.example", "b.example"].map((hostname) => ({
              name: hostname.slice(0, 1),
              address: "127.0.0.1",
              hostname,
              tls: { cert: `${folder}/tls.crt`, key: `${folder}/tls.key` },
            })),
          },
        },
      },
    });
    text = await gateway.metrics();
  }
  await Deno.remove(folder, { recursive: true });

  const series = [
    ...text.matchAll(
      /^gateway_certificate_expiry_seconds\{port="(.*)",hostname="(.*)"\} (\d+)$/gm,
    ),
  ];
  assert.deepEqual(series.map(([, , hostname]) => hostname), [
    "a.example",
    "b.example",
  ]);
  for (const [, ofPort = "", , expiry] of series) {
    assert(ofPort.endsWith(String(port)));
    assert(Number(expiry) > before);
    assert(Number(expiry) < before + 400 * 86400);
  }
});
