/** Clients that want the output of a batch, or of a response in the background, without being charged. */
import assert from "node:assert/strict";
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { until } from "../../../harness/servers/held_upstream.ts";
import { NodeUpstream } from "../../../harness/servers/node_upstreams.ts";

const LIMIT = 10_000;
const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
const line = `${
  JSON.stringify({ response: { body: { model: "gpt-test", usage } } })
}\n`;
const file = "/v1/files/file-1/content";

/** Responds to `/probe` with nothing, and to other requests as the test says. */
async function startProvider(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
) {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/probe") response.end();
    else respond(request, response);
  });
  const upstream = new NodeUpstream(server);
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const address = server.address();
  const port = typeof address === "object" ? address?.port ?? 0 : 0;
  return {
    backends: [{ host: `127.0.0.1:${port}` }],
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  };
}

type Provider = Awaited<ReturnType<typeof startProvider>>;

/** Starts a gateway with a budget for each hostname. */
async function start(providers: Readonly<Record<string, Provider>>) {
  const gateway = await startTestGateway({
    routes: Object.entries(providers).map(([name, { backends }]) => ({
      name,
      hostnames: [name],
      backends,
      policies: { rateLimit: { local: [{ tokens: LIMIT, unit: "Hours" }] } },
    })),
  });
  const { origin } = gateway;
  const get = (
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ) => fetchRaw(origin + path, { headers: { host: "one", ...headers } });
  const charged = async (host = "one") => {
    const { headers } = await get("/probe", { host });
    return LIMIT - Number(headers["x-ratelimit-remaining"]);
  };
  return {
    gateway,
    get,
    charged,
    /** Waits a limited time until so many requests are over. */
    finished: (requests: number) =>
      until(() =>
        gateway.accessLog.join("").split(" http.path=/v1").length > requests
      ),
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

Deno.test("results are charged to clients that offer another protocol", async () => {
  await using one = await startProvider((_, response) => response.end(line));
  await using limited = await start({ one });

  const headers = { connection: "Upgrade", upgrade: "websocket" };
  const { bytes } = await limited.get(file, headers);
  await limited.finished(1);

  assert.equal(new TextDecoder().decode(bytes), line);
  assert.equal(await limited.charged(), 110);
});

Deno.test("another backend that names a batch does not make it free", async () => {
  const batch = (tokens: number) =>
    JSON.stringify({
      status: "completed",
      output_file_id: "file-1",
      usage: { input_tokens: tokens, output_tokens: 0, total_tokens: tokens },
    });
  await using one = await startProvider((_, response) => response.end(line));
  await using two = await startProvider((_, response) =>
    response.end(batch(1))
  );
  await using limited = await start({ one, two });

  await limited.get("/v1/batches/b_1", { host: "two" });
  await limited.finished(1);
  assert.equal(await limited.charged("two"), 1);
  await limited.get(file);
  await limited.finished(2);
  assert.equal(await limited.charged(), 110);
});

Deno.test("a batch that has not ended is not charged for what it used until then", async () => {
  let status = "in_progress";
  await using one = await startProvider((_, response) =>
    response.end(JSON.stringify({
      status,
      output_file_id: status === "completed" ? "file-1" : null,
      usage: status === "completed"
        ? usage
        : { input_tokens: 1, output_tokens: 0, total_tokens: 1 },
    }))
  );
  await using limited = await start({ one });

  for (const next of ["finalizing", "completed", "completed"]) {
    await limited.get("/v1/batches/b_1");
    status = next;
  }
  await limited.get("/v1/batches/b_1");
  await limited.finished(4);

  assert.equal(await limited.charged(), 110);
});

Deno.test("results in a batch of Gemini are charged once, by its name or in a list", async () => {
  const batch = (name: string) => ({
    name: `batches/${name}`,
    response: {
      inlinedResponses: {
        inlinedResponses: [1, 2].map(() => ({
          response: { usageMetadata: { totalTokenCount: 55 } },
        })),
      },
    },
  });
  await using one = await startProvider(({ url = "" }, response) =>
    response.end(
      JSON.stringify(
        url === "/v1beta/batches"
          ? { operations: [batch("a"), batch("b")] }
          : batch("a"),
      ),
    )
  );
  await using limited = await start({ one });

  for (
    const [requests, path, expected] of [
      [1, "/v1beta/batches/a", 110],
      [2, "/v1beta/batches", 220],
      [3, "/v1beta/batches", 220],
      [4, "/v1beta/batches/b", 220],
    ] as const
  ) {
    await limited.get(path);
    await limited.finished(requests);
    assert.equal(await limited.charged(), expected);
  }
});

/** Reads the beginning of a response, and leaves. */
async function leave(url: string, received: () => void): Promise<void> {
  const connection = await Deno.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(url).port),
  });
  const { pathname } = new URL(url);
  const head = `GET ${pathname} HTTP/1.1\r\nhost: one\r\n\r\n`;
  await connection.write(new TextEncoder().encode(head));
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes("output")) {
    const bytes = new Uint8Array(1024);
    const length = await connection.read(bytes);
    if (length === null) break;
    text += decoder.decode(bytes.subarray(0, length), { stream: true });
  }
  connection.close();
  received();
}

/** More than fits in the buffers of a connection: the gateway notices that the client has left. */
const rest = `"rest":"${"a".repeat(8 * 1024 * 1024)}",`;

const response = {
  id: "resp_1",
  object: "response",
  background: true,
  status: "completed",
  model: "gpt-test",
};

for (
  const [what, path, begin, end] of [
    [
      "a response in the background",
      "/v1/responses/resp_1",
      `${JSON.stringify(response).slice(0, -1)},"output":["all"],`,
      `"usage":${JSON.stringify(usage)}}`,
    ],
    [
      "results",
      file,
      '{"response":{"body":{"model":"gpt-test","output":["all"],',
      `"usage":${JSON.stringify(usage)}}}}\n`,
    ],
  ] as const
) {
  Deno.test(`a client is charged for ${what} if it leaves before the usage`, async () => {
    const left = Promise.withResolvers<void>();
    await using one = await startProvider((_, answer) => {
      answer.writeHead(200, { "content-type": "application/json" });
      answer.write(begin);
      void left.promise.then(() => answer.end(rest + end));
    });
    await using limited = await start({ one });

    await leave(limited.gateway.origin + path, left.resolve);
    await limited.finished(1);

    assert.equal(await limited.charged(), 110);
  });
}

Deno.test("a read that breaks off does not make another one free that began before", async () => {
  const waiting: ServerResponse[] = [];
  await using one = await startProvider((_, response) => {
    response.writeHead(200, { "content-length": String(line.length * 3) });
    response.write(line);
    waiting.push(response);
  });
  await using limited = await start({ one });

  const broken = limited.get(file).catch(() => undefined);
  await until(() => waiting.length === 1);
  const whole = limited.get(file);
  await until(() => waiting.length === 2);
  waiting[0]?.destroy();
  await broken;
  await limited.finished(1);
  assert.equal(await limited.charged(), 110);
  waiting[1]?.end(line + line);
  await whole;
  await limited.finished(2);

  assert.equal(await limited.charged(), 440);
  const again = limited.get(file);
  await until(() => waiting.length === 3);
  waiting[2]?.end(line + line);
  await again;
  await limited.finished(3);
  assert.equal(await limited.charged(), 440);
});

Deno.test("results in an unknown coding are reported as not counted", async () => {
  await using one = await startProvider((_, response) => {
    response.writeHead(200, { "content-encoding": "compress" });
    response.end(line);
  });
  await using limited = await start({ one });

  await limited.get(file, { "accept-encoding": "compress" });
  await limited.finished(1);

  assert.match(limited.gateway.accessLog.join(""), /gen_ai\.usage\.uncounted/);
});

Deno.test("ranges of files are forwarded where no budget needs the usage", async () => {
  const ranges: (string | undefined)[] = [];
  await using one = await startProvider(({ headers }, response) => {
    ranges.push(headers.range);
    response.writeHead(206).end("{}");
  });
  await using gateway = await startTestGateway({
    routes: [{ name: "files", backends: one.backends }],
  });

  const { status } = await fetchRaw(gateway.origin + file, {
    headers: { range: "bytes=0-1" },
  });

  assert.equal(status, 206);
  assert.deepEqual(ranges, ["bytes=0-1"]);
});
