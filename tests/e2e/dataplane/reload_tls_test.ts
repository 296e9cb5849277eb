import assert from "node:assert/strict";
import { join } from "node:path";
import { createAuthority } from "../../harness/login/certificates.ts";
import {
  createConfigFolder,
  type FileGateway,
  followFile,
  replaceFile,
} from "../../harness/gateway/file_gateway.ts";
import { freePort } from "../../harness/process/free_port.ts";
import { answer, RawUpstream } from "../../harness/clients/raw_upstream.ts";
import { namesShown, TlsClient } from "../../harness/clients/tls_client.ts";

const applied = /Configuration applied/;
const authority = await createAuthority();
const certificates = {
  one: await authority.issueServer(["localhost", "one.example"]),
  two: await authority.issueServer(["localhost", "two.example"]),
};
const alice = await authority.issueClient("alice");

/** A gateway that terminates TLS with the files `cert.pem` and `key.pem` beside its configuration. */
interface TlsGateway extends FileGateway {
  readonly port: number;
  readonly upstream: RawUpstream;
  /** Rewrites the configuration with that listener; waits until it is in force. */
  listen(listener: Readonly<Record<string, unknown>>): Promise<void>;
  /** Renews key and certificate; waits until they are in force. */
  renew(pair: { cert: string; key: string }): Promise<void>;
}

const fromFiles = { cert: "cert.pem", key: "key.pem" };

async function startTlsGateway(): Promise<TlsGateway> {
  const upstream = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("ok"));
    }
  });
  const port = freePort();
  const configWith = (listener: Readonly<Record<string, unknown>>) => ({
    gateways: { default: { port, address: "127.0.0.1", ...listener } },
    routes: [{ backends: [{ host: `127.0.0.1:${upstream.port}` }] }],
  });
  const { folder, file } = await createConfigFolder(
    configWith({ protocol: "HTTPS", tls: fromFiles }),
  );
  await replaceFile(join(folder, "cert.pem"), certificates.one.cert);
  await replaceFile(join(folder, "key.pem"), certificates.one.key);
  const test = await followFile(folder, file);
  return {
    ...test,
    port,
    upstream,
    async listen(listener) {
      await replaceFile(file, configWith(listener));
      await test.log.next(applied);
    },
    async renew({ cert, key }) {
      await replaceFile(join(folder, "key.pem"), key);
      await replaceFile(join(folder, "cert.pem"), cert);
      await test.log.next(applied);
    },
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]();
      await upstream.stop();
    },
  };
}

Deno.test("gateway shows a renewed certificate to new clients and keeps the connections of the others", async () => {
  await using test = await startTlsGateway();
  using client = new TlsClient(test.port, { ca: authority.cert });
  assert.equal(await client.get(), "200 ok");
  assert.match(await namesShown(test.port, "localhost"), /one\.example/);

  await test.renew(certificates.two);

  assert.match(await namesShown(test.port, "localhost"), /two\.example/);
  assert.equal(await client.get(), "200 ok");
  assert.match(
    await test.gateway.dataPlane.call("collectMetrics"),
    new RegExp(
      `^gateway_downstream_connections_active\\{port="${test.port}"\\} 1$`,
      "m",
    ),
  );
});

Deno.test("gateway keeps its certificate while the new one does not match its key", async () => {
  await using test = await startTlsGateway();

  await replaceFile(join(test.folder, "cert.pem"), certificates.two.cert);
  await test.log.next(/Configuration rejected/);

  const { lastRejected } = test.gateway.status();
  assert.match(
    lastRejected?.diagnostics[0] ?? "",
    /Cannot use the certificate: the private key belongs to another certificate/,
  );
  assert.match(await namesShown(test.port, "localhost"), /one\.example/);
});

Deno.test("gateway warns of a certificate that has expired, and shows it", async () => {
  await using test = await startTlsGateway();
  const expired = await authority.issueExpired(["localhost", "old.example"]);

  await replaceFile(join(test.folder, "key.pem"), expired.key);
  await replaceFile(join(test.folder, "cert.pem"), expired.cert);

  await test.log.next(
    /warn\t.*gateways\.default\.tls\.cert: The certificate expired at \d{4}-.*Z: clients reject it/,
  );
  await test.log.next(applied);
  assert.match(await namesShown(test.port, "localhost"), /old\.example/);
});

Deno.test("gateway requests certificates of new clients after a reload", async () => {
  await using test = await startTlsGateway();
  using before = new TlsClient(test.port, { ca: authority.cert });
  assert.equal(await before.get(), "200 ok");

  await test.listen({
    protocol: "HTTPS",
    tls: {
      ...fromFiles,
      clientCa: authority.cert,
      clientCertificate: "Require",
    },
  });

  using nobody = new TlsClient(test.port, { ca: authority.cert });
  using known = new TlsClient(test.port, { ca: authority.cert, ...alice });
  await assert.rejects(nobody.get());
  assert.equal(await known.get(), "200 ok");
  assert.equal(await before.get(), "200 ok");
});

Deno.test("gateway turns a port from TLS to plain text and back", async () => {
  await using test = await startTlsGateway();
  const plain = async () => {
    // A connection of its own: one that is open already is served to its end.
    using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const response = await fetch(`http://127.0.0.1:${test.port}`, { client });
    return `${response.status} ${await response.text()}`;
  };
  const encrypted = async () => {
    using client = new TlsClient(test.port, { ca: authority.cert });
    return await client.get();
  };
  assert.equal(await encrypted(), "200 ok");
  await assert.rejects(plain());

  await test.listen({});
  assert.equal(await plain(), "200 ok");
  await assert.rejects(encrypted());

  await test.listen({ protocol: "HTTPS", tls: fromFiles });
  assert.equal(await encrypted(), "200 ok");
  await assert.rejects(plain());
});
