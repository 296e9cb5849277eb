/** One of several backends is dead, without any settings, in every way to write several backends. */
import assert from "node:assert/strict";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { freePort } from "../../harness/process/free_port.ts";
import {
  startTestGateway,
  type TestGateway,
} from "../../harness/gateway/gateway.ts";
import {
  answer,
  type RawConnection,
  RawUpstream,
} from "../../harness/clients/raw_upstream.ts";

const REQUESTS = 60;
const CHAT = "/v1/chat/completions";

const limited = "HTTP/1.1 429 Slow down\r\nRetry-After: 60\r\n" +
  "Content-Length: 4\r\n\r\nslow";
const unavailable = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";
const error = "HTTP/1.1 500 Error\r\nContent-Length: 5\r\n\r\nerror";

type Answer = (connection: RawConnection) => Promise<void>;

/** An upstream that counts its requests. */
function upstream(
  answerOf: Answer,
): RawUpstream & { readonly requests: number } {
  const count = { requests: 0 };
  const created = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      count.requests++;
      await answerOf(connection);
    }
  });
  return Object.defineProperty(
    Object.assign(created, { requests: 0 }),
    "requests",
    { get: () => count.requests },
  );
}

function saying(text: string) {
  return upstream((connection) => connection.send(text));
}

function healthy() {
  return saying(answer("well"));
}

const dead = {
  reset: () =>
    upstream((connection) => {
      connection.close();
      return Promise.resolve();
    }),
  503: () => saying(unavailable),
  429: () => saying(limited),
};

type Ports = readonly number[];

function named(ports: Ports) {
  return ports.map((port, index) => ({
    name: `backend${index}`,
    static: { host: "127.0.0.1", port },
  }));
}

function routeTo(
  ports: Ports,
  each: (index: number) => Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
) {
  return {
    routes: [{
      backends: ports.map((_, index) => ({
        backend: `backend${index}`,
        ...each(index),
      })),
      ...more,
    }],
  };
}

const ways: Readonly<Record<string, (ports: Ports) => object>> = {
  "a list of backends": (ports) => ({
    ...routeTo(ports, () => ({})),
    backends: named(ports),
  }),
  "a list with weights": (ports) => ({
    ...routeTo(ports, (index) => ({ weight: index === 0 ? 2 : 1 })),
    backends: named(ports),
  }),
  "a list with equal priorities": (ports) => ({
    ...routeTo(ports, () => ({ priority: 0 })),
    backends: named(ports),
  }),
  "endpoints of one backend": (ports) => ({
    routes: [{ backends: [{ backend: "fleet" }] }],
    backends: [{
      name: "fleet",
      loadBalancing: { policy: "RoundRobin" },
      endpoints: ports.map((port) => ({ host: "127.0.0.1", port })),
    }],
  }),
  "a list of LLM backends": (ports) => ({
    ...routeTo(ports, () => ({})),
    backends: ports.map((port, index) => ({
      name: `backend${index}`,
      llm: {
        provider: "OpenAI",
        host: `127.0.0.1:${port}`,
        plainText: true,
      },
    })),
  }),
};

/** Sends a request; returns its status. */
async function send(
  { origin }: TestGateway,
  method: string,
  signal?: AbortSignal,
): Promise<number> {
  const response = await fetch(`${origin}${CHAT}`, {
    method,
    ...(signal && { signal }),
    ...(method === "POST" && {
      body: '{"model":"m","messages":[]}',
      headers: { "content-type": "application/json" },
    }),
  });
  await response.body?.cancel();
  return response.status;
}

async function sendMany(
  gateway: TestGateway,
  method: string,
): Promise<readonly number[]> {
  const failed: number[] = [];
  for (let sent = 0; sent < REQUESTS; sent++) {
    const status = await send(gateway, method);
    if (status !== 200) failed.push(status);
  }
  return failed;
}

for (const [way, configure] of Object.entries(ways)) {
  // LLM providers have no GET at this path.
  const methods = way.includes("LLM") ? ["POST"] : ["GET", "POST"];
  for (const method of methods) {
    Deno.test(`${method}: no request is lost while one of three refuses connections, in ${way}`, async () => {
      await using one = healthy();
      await using other = healthy();
      const ports = [freePort(), one.port, other.port];
      await using gateway = await startTestGateway({ ...configure(ports) });

      assert.deepEqual(await sendMany(gateway, method), []);
      assert(one.requests > 10 && other.requests > 10);
    });

    for (const [fault, start] of Object.entries(dead)) {
      Deno.test(`${method}: one of three that answers with ${fault} gets a rest, in ${way}`, async () => {
        await using first = start();
        await using one = healthy();
        await using other = healthy();
        const ports = [first.port, one.port, other.port];
        await using gateway = await startTestGateway({ ...configure(ports) });

        const failed = await sendMany(gateway, method);

        const isHidden = method === "GET" || way.includes("LLM");
        // A POST that a backend may have processed is not sent again.
        assert(failed.length <= (isHidden ? 0 : 5), `lost: ${failed}`);
        assert(first.requests <= 10, `${first.requests} requests`);
        assert(one.requests > 10 && other.requests > 10);
      });
    }

    Deno.test(`${method}: one of three that hangs gets no more requests, also when its clients leave, in ${way}`, async () => {
      const clock = new FakeClock();
      const hangs = Promise.withResolvers<void>();
      await using first = upstream(() => hangs.promise);
      await using one = healthy();
      await using other = healthy();
      const ports = [first.port, one.port, other.port];
      await using gateway = await startTestGateway(
        { ...configure(ports) },
        {},
        [],
        { clock },
      );
      const leaving = new AbortController();
      const left: Promise<unknown>[] = [];
      let done = 0;
      while (first.requests < 3) {
        const sent = send(gateway, method, leaving.signal)
          .then(() => done++, () => {});
        left.push(sent);
        await until(() => done + first.requests >= left.length);
      }
      clock.advance(20_000);
      leaving.abort();
      await Promise.all(left);

      assert.deepEqual(await sendMany(gateway, method), []);
      assert.equal(first.requests, 3);
      hangs.resolve();
    });
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}

Deno.test("retry goes to another backend before the same one again", async () => {
  await using first = saying(error);
  await using other = healthy();
  const ports = [first.port, other.port];
  await using gateway = await startTestGateway({
    ...routeTo(ports, () => ({}), { retry: { attempts: 3, codes: [500] } }),
    backends: named(ports),
  });

  assert.deepEqual(await sendMany(gateway, "POST"), []);
  assert.equal(other.requests, REQUESTS);
  assert(first.requests < REQUESTS);
});

Deno.test("weights hold among the backends that are well", async () => {
  await using three = healthy();
  await using one = healthy();
  const ports = [freePort(), three.port, one.port];
  await using gateway = await startTestGateway({
    ...routeTo(ports, (index) => ({ weight: [4, 3, 1][index] ?? 0 })),
    backends: named(ports),
  });

  assert.deepEqual(await sendMany(gateway, "POST"), []);
  const share = three.requests / REQUESTS;
  assert(share > 0.55 && share < 0.95, `${share}`);
});

Deno.test("a reference that does not resolve keeps its share of 500", async () => {
  await using well = healthy();
  const kind = "GatewayBackend";
  const group = "policy.gateway.internal";
  await using gateway = await startTestGateway(
    { backends: named([well.port]) },
    {},
    [{
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "half" },
      spec: {
        parentRefs: [{ name: "default" }],
        rules: [{
          backendRefs: [
            { name: "backend0", kind, group },
            { name: "nowhere", kind, group },
          ],
        }],
      },
    }],
  );

  const failed = await sendMany(gateway, "GET");

  assert.equal(well.requests + failed.length, REQUESTS);
  assert(failed.length > REQUESTS / 4 && failed.length < REQUESTS * 3 / 4);
  assert.deepEqual([...new Set(failed)], [500]);
});

Deno.test("a POST whose backend closes the connection is not sent to another", async () => {
  await using first = dead.reset();
  await using other = healthy();
  const ports = [first.port, other.port];
  await using gateway = await startTestGateway({
    ...routeTo(ports, (index) => ({ weight: index === 0 ? 1_000_000 : 1 })),
    backends: named(ports),
  });

  assert.equal(await send(gateway, "POST"), 502);
  assert.deepEqual([first.requests, other.requests], [1, 0]);
});

Deno.test("a session of a client whose backend is dead goes on at another", async () => {
  const port = freePort();
  await using other = healthy();
  let first: RawUpstream | undefined = new RawUpstream(async (connection) => {
    for (;;) {
      await connection.request();
      await connection.send(answer("well"));
    }
  }, port);
  const ports = [port, other.port];
  await using gateway = await startTestGateway({
    ...routeTo(ports, (index) => ({ weight: index === 0 ? 1_000_000 : 1 }), {
      sessionPersistence: { sessionName: "s", type: "Header" },
    }),
    backends: named(ports).map((backend) => ({
      ...backend,
      static: undefined,
      endpoints: [backend.static],
    })),
  });
  const begun = await fetch(gateway.origin);
  await begun.body?.cancel();
  const session = begun.headers.get("s") ?? "";
  await first[Symbol.asyncDispose]();
  first = undefined;

  const headers = { s: session };
  const response = await fetch(gateway.origin, { method: "POST", headers });

  assert.equal(await response.text(), "well");
  assert.equal(other.requests, 1);
});
