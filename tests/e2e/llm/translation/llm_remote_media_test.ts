import assert from "node:assert/strict";
import { GatewayProcess } from "../../../harness/gateway/gateway_process.ts";
import {
  type MediaServer,
  png,
  startMediaServer,
} from "../../../harness/llm/media_server.ts";
import { startProvider } from "../../../harness/llm/provider_server.ts";
import { translationTargets } from "../../../harness/llm/translation_targets.ts";

const pdf = new TextEncoder().encode("%PDF-1.7 text");
const bedrock = translationTargets.find(({ provider }) =>
  provider === "Bedrock"
);

function respond(path: string): Response {
  switch (path) {
    case "/a.png":
      // Object stores often know no better.
      return new Response(png, {
        headers: { "content-type": "binary/octet-stream" },
      });
    case "/moved":
      return Response.redirect("https://localhost/", 302);
    case "/inside":
      return Response.redirect("https://127.0.0.1:1/latest/meta-data", 302);
    case "/again":
      return new Response(null, {
        status: 302,
        headers: { location: "/again" },
      });
    case "/to-a":
      return new Response(null, {
        status: 307,
        headers: { location: "/a.png" },
      });
    case "/plain":
      return new Response(null, {
        status: 301,
        headers: { location: "http://localhost/a.png" },
      });
    case "/paper":
      return new Response(pdf);
    case "/page":
      return new Response("<html>", {
        headers: { "content-type": "text/html" },
      });
    case "/lie":
      return new Response("no image", {
        headers: { "content-type": "image/png" },
      });
    case "/long":
      return new Response(new Uint8Array(70_000));
    case "/zip":
      return new Response(png, { headers: { "content-encoding": "gzip" } });
    case "/hangs":
      return new Response(new ReadableStream());
    default:
      return new Response("none", { status: 404 });
  }
}

async function start(
  server: MediaServer,
  host: string,
  { workers = 1, ...remoteMedia }: Readonly<Record<string, unknown>> = {},
): Promise<GatewayProcess> {
  const folder = await Deno.makeTempDir();
  const authority = `${folder}/ca.pem`;
  await Deno.writeTextFile(authority, server.authority);
  return await GatewayProcess.start({
    env: { SSL_CERT_FILE: authority },
    config: {
      config: {
        workers,
        remoteMedia: {
          trustedHosts: [server.host],
          maxBytes: 65_536,
          timeout: "1m",
          ...remoteMedia,
        },
      },
      routes: [{
        name: "llm",
        backends: [{
          llm: {
            provider: "Bedrock",
            region: "us-east-1",
            host,
            plainText: true,
            credentials: { key: "bedrock-key-1" },
          },
        }],
      }],
    },
  });
}

function chatOf(url: string, fields = {}) {
  return {
    model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    ...fields,
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url } },
      ],
    }],
  };
}

async function post(gateway: GatewayProcess, path: string, body: unknown) {
  const response = await fetch(`${gateway.origin}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer client-key",
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

Deno.test("images and files at URLs reach Bedrock as bytes, from clients of every API", async () => {
  await using server = await startMediaServer(respond);
  await using provider = startProvider(() => Response.json(bedrock?.text));
  await using gateway = await start(server, provider.host, { workers: 2 });
  const url = `${server.origin}/a.png`;
  const model = "anthropic.claude-sonnet-4-5-20250929-v1:0";
  const requests: readonly (readonly [string, unknown])[] = [
    ["/v1/chat/completions", chatOf(url)],
    ["/v1/chat/completions", chatOf(`${server.origin}/to-a`)],
    ["/v1/responses", {
      model,
      input: [{
        role: "user",
        content: [
          { type: "input_text", text: "What?" },
          { type: "input_image", image_url: url },
        ],
      }],
    }],
    ["/v1/messages", {
      model,
      max_tokens: 10,
      messages: [{
        role: "user",
        content: [
          { type: "text", text: "Look" },
          {
            type: "tool_result",
            tool_use_id: "t1",
            content: [{ type: "image", source: { type: "url", url } }],
          },
        ],
      }],
    }],
    [`/v1beta/models/${model}:generateContent`, {
      contents: [{
        parts: [
          { text: "What?" },
          { fileData: { fileUri: url, mimeType: "image/png" } },
        ],
      }],
    }],
  ];
  for (const [path, body] of requests) {
    const { status, text } = await post(gateway, path, body);
    assert.equal(status, 200, `${path}: ${text}`);
    const sent = provider.requests.at(-1)?.body ?? "";
    const image = { format: "png", source: { bytes: png.toBase64() } };
    assert.ok(sent.includes(JSON.stringify({ image })), `${path}: ${sent}`);
  }
  const { status } = await post(gateway, "/v1/messages", {
    model,
    max_tokens: 10,
    messages: [{
      role: "user",
      content: [{
        type: "document",
        source: { type: "url", url: `${server.origin}/paper` },
      }],
    }],
  });
  assert.equal(status, 200);
  assert.match(
    provider.requests.at(-1)?.body ?? "",
    new RegExp(`"format":"pdf".*${pdf.toBase64()}`),
  );
  assert.ok(server.headers.every((each) => !each.has("authorization")));
});

Deno.test("a stream with an image at a URL is translated; the next turn needs no fetch", async () => {
  await using server = await startMediaServer(respond);
  await using provider = startProvider(() =>
    new Response(null, { status: 503 })
  );
  await using gateway = await start(server, provider.host);
  const stream = chatOf(`${server.origin}/a.png?signature=s3cret`, {
    stream: true,
  });
  const trace = await fetch(`${gateway.admin}/debug/trace?count=1`);
  await post(gateway, "/v1/chat/completions", stream);
  await post(gateway, "/v1/chat/completions", stream);

  assert.deepEqual(
    provider.requests.map(({ target }) => target.split("/").at(-1)),
    ["converse-stream", "converse-stream"],
  );
  assert.deepEqual(server.paths, ["/a.png"]);
  const told = await trace.text();
  assert.ok(told.includes(`${server.origin}/a.png`), told);
  assert.doesNotMatch(told, /s3cret/);
});

const problems: readonly (readonly [string, RegExp])[] = [
  ["/page", /An image is at a URL that has text\/html/],
  ["/lie", /no image or file of a known type/],
  ["/long", /longer than 65536 bytes/],
  ["/zip", /cannot be reached/],
  ["/none", /its server returned 404/],
  ["/again", /more than 3 redirects/],
  ["/moved", /cannot be reached, or is not on the public internet/],
  ["/inside", /cannot be reached, or is not on the public internet/],
  ["/plain", /must begin with \\"https:/],
];

Deno.test("an image that cannot be fetched is a 400 that says why, and Bedrock gets no request", async () => {
  await using server = await startMediaServer(respond);
  await using provider = startProvider();
  await using gateway = await start(server, provider.host);
  const urls = [
    ...problems.map(([path, problem]) =>
      [`${server.origin}${path}`, problem] as const
    ),
    ["https://169.254.169.254/latest/meta-data", /not on the public internet/],
    ["https://[::1]/a.png", /not on the public internet/],
    ["https://localhost/a.png", /not on the public internet/],
    ["https://user:secret@example.com/a.png", /has user information/],
    ["file:///etc/passwd", /must begin with \\"https:/],
    ["s3://bucket/key", /must begin with \\"https:/],
    [`https://example.com/${"x".repeat(9000)}`, /longer than 8192/],
  ] as const;
  for (const [url, problem] of urls) {
    const { status, text } = await post(
      gateway,
      "/v1/chat/completions",
      chatOf(url),
    );
    assert.equal(status, 400, `${url.slice(0, 80)}: ${text}`);
    assert.match(text, problem, url.slice(0, 80));
    assert.doesNotMatch(text, /secret/);
  }
  const many = Array.from({ length: 33 }, (_, index) => ({
    type: "image_url",
    image_url: { url: `${server.origin}/${index}` },
  }));
  const { status, text } = await post(gateway, "/v1/chat/completions", {
    ...chatOf(""),
    messages: [{ role: "user", content: many }],
  });
  assert.equal(status, 400);
  assert.match(text, /at 33 URLs: the gateway fetches up to 32/);
  assert.equal(provider.requests.length, 0);
});

Deno.test("an image that does not arrive in time is a 400", async () => {
  await using server = await startMediaServer(respond);
  await using provider = startProvider();
  await using gateway = await start(server, provider.host, { timeout: "50ms" });
  const { status, text } = await post(
    gateway,
    "/v1/chat/completions",
    chatOf(`${server.origin}/hangs`),
  );
  assert.equal(status, 400);
  assert.match(text, /took longer than 50 ms/);
});

Deno.test("with fetch: false, the gateway asks no server", async () => {
  await using server = await startMediaServer(respond);
  await using provider = startProvider();
  await using gateway = await start(server, provider.host, { fetch: false });
  const { status, text } = await post(
    gateway,
    "/v1/chat/completions",
    chatOf(`${server.origin}/a.png`),
  );
  assert.equal(status, 400);
  assert.match(text, /no counterpart/);
  assert.deepEqual(server.paths, []);
});
