/** Policies of the program that runs a gateway, as `docs/library.md` documents them. */
import assert from "node:assert/strict";
import {
  type Configuration,
  ConfigurationError,
  createPolicy,
  type PolicyHeaders,
  startGateway,
  textSource,
  validateConfiguration,
} from "../../../mod.ts";
import { freePort } from "../../harness/process/free_port.ts";

const PASS = "pass-of-anna-4711";

/** Admits only requests with a pass, and names the admitting desk in the response. */
const visitorPass = createPolicy({
  name: "visitorPass",
  description: "Admits requests with a pass.",
  settings: {
    pass: { type: "secret", description: "Value of `x-pass`." },
    desk: { type: "text", description: "Name of the desk." },
    status: { type: "integer", description: "Status without a pass." },
  },
  secretHeaders: ["x-pass"],
  create: ({ pass, desk, status }) => ({
    onRequest({ headers, clientAddress }) {
      if (headers.get("X-Pass") === pass) {
        headers.delete("x-pass");
        headers.set("x-desk", desk);
        return undefined;
      }
      return {
        status,
        message: `no pass from ${clientAddress}`,
        headers: { "x-reason": "pass" },
        body: "show your pass",
      };
    },
    onResponse({ headers }) {
      headers.set("x-visited", desk);
    },
  }),
});

function configFor(
  port: number,
  visitorPass: object,
  backend: number,
): Configuration {
  return {
    gateways: { default: { port, address: "127.0.0.1" } },
    routes: [{
      name: "all",
      policies: { visitorPass },
      backends: [{ host: `127.0.0.1:${backend}` }],
    }],
  };
}

const settings = { pass: PASS, desk: "north", status: 403 };

Deno.test("a policy of the program admits, changes and rejects requests", async () => {
  const seen: Headers[] = [];
  await using backend = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ headers }) => {
      seen.push(headers);
      return new Response("welcome");
    },
  );
  const port = freePort();
  const accessLog: string[] = [];
  await using gateway = await startGateway({
    config: configFor(port, settings, backend.addr.port),
    policies: [visitorPass],
    writeAccessLog: (line) => void accessLog.push(line),
  });
  const url = `http://127.0.0.1:${port}/`;
  const traces = await gateway.traces();

  const admitted = await fetch(url, { headers: { "x-pass": PASS } });
  const text = JSON.stringify(await Array.fromAsync(traces));
  const rejected = await fetch(url, { headers: { "x-pass": "other" } });

  assert.equal(await admitted.text(), "welcome");
  assert.equal(admitted.headers.get("x-visited"), "north");
  assert.equal(seen[0]?.get("x-desk"), "north");
  assert.equal(seen[0]?.get("x-pass"), null);
  assert.equal(rejected.status, 403);
  assert.equal(rejected.headers.get("x-reason"), "pass");
  assert.equal(rejected.headers.get("x-visited"), "north");
  assert.equal(await rejected.text(), "show your pass");
  assert.match(text, /"kind":"visitor_pass"/);
  assert.doesNotMatch(text, new RegExp(PASS));
  assert.match(accessLog.join(""), /reason=visitor_pass error="no pass from/);
  assert.match(await gateway.metrics(), /reason="visitor_pass"\} 1/);
});

Deno.test("errors in the configuration of a policy of the program have their place", async () => {
  const { diagnostics } = await validateConfiguration(
    textSource(JSON.stringify(configFor(8080, { desk: "north" }, 1))),
    {},
    { policies: [visitorPass] },
  );
  assert.deepEqual(
    diagnostics.map(({ path, message }) => `${path}: ${message}`).sort(),
    [
      "routes[0].policies.visitorPass.pass: required field is missing",
      "routes[0].policies.visitorPass.status: required field is missing",
    ],
  );

  const port = freePort();
  await using gateway = await startGateway({
    config: configFor(port, settings, 1),
    policies: [visitorPass],
  });
  await assert.rejects(
    gateway.apply(configFor(port, { ...settings, status: "x" }, 1)),
    (error) =>
      error instanceof ConfigurationError &&
      error.diagnostics.length === 1 &&
      /visitorPass\.status/.test(error.message),
  );
});

Deno.test("two policies of one name, and one of a built-in policy, are rejected", async () => {
  const cors = createPolicy({
    name: "cors",
    description: "Another one.",
    settings: {},
    create: () => ({}),
  });
  for (const policies of [[visitorPass, visitorPass], [cors]]) {
    await assert.rejects(
      startGateway({ config: configFor(freePort(), {}, 1), policies }),
      /Cannot register kind of policy "(visitorPass|cors)" twice/,
    );
  }
  await assert.rejects(
    startGateway({
      config: configFor(freePort(), {}, 1),
      policies: [{ name: "other" }],
    }),
    /Cannot use policy "other": call createPolicy/,
  );
});

const faults: readonly {
  readonly what: string;
  readonly run: (headers: PolicyHeaders) => void;
}[] = [
  {
    what: "throws",
    run: () => {
      throw new Error("secret-of-the-program");
    },
  },
  {
    what: "sets a header with a line break",
    run: (headers) => headers.set("x-a", "1\r\nx-b: 2"),
  },
  {
    what: "sets a header with an invalid name",
    run: (headers) => headers.set("x a", "1"),
  },
  {
    what: "sets a header that delimits messages",
    run: (headers) => headers.set("Content-Length", "7"),
  },
  { what: "deletes Host", run: (headers) => headers.delete("Host") },
];

for (const { what, run } of faults) {
  Deno.test(`a policy of the program that ${what} leads to 500`, async () => {
    const faulty = createPolicy({
      name: "faulty",
      description: "Fails.",
      settings: {},
      create: () => ({
        onRequest({ headers }) {
          run(headers);
          return undefined;
        },
      }),
    });
    const port = freePort();
    await using _gateway = await startGateway({
      config: {
        gateways: { default: { port, address: "127.0.0.1" } },
        routes: [{
          policies: { faulty: {}, directResponse: { status: 200, body: "ok" } },
        }],
      },
      policies: [faulty],
    });

    const response = await fetch(`http://127.0.0.1:${port}/`);

    assert.equal(response.status, 500);
    assert.doesNotMatch(await response.text(), /ok|secret-of-the-program/);
  });
}
