/** OpenAI's own client of the Realtime API, through a budget of tokens. */
import assert from "node:assert/strict";
import OpenAI from "openai";
import { OpenAIRealtimeWebSocket } from "openai/realtime/websocket";
import { createAuthority } from "../../harness/login/certificates.ts";
import { startTestGateway } from "../../harness/gateway/gateway.ts";
import {
  realtimeResponse,
  realtimeUsage,
  startRealtimeProvider,
} from "../../harness/llm/realtime_provider.ts";

const authority = await createAuthority();
const own = await authority.issueServer(["localhost", "127.0.0.1"]);

Deno.test("OpenAI's client converses until the budget is used up", async () => {
  await using provider = startRealtimeProvider(() =>
    realtimeResponse(realtimeUsage(80, 20), ["Hel", "lo"])
  );
  await using gateway = await startTestGateway({
    routes: [{
      name: "voice",
      backends: [{ host: provider.host }],
      policies: { rateLimit: { local: [{ tokens: 150, unit: "Hours" }] } },
    }],
  }, { protocol: "HTTPS", tls: own });
  using client = Deno.createHttpClient({ caCerts: [authority.cert] });
  using _trust = trusting(client);
  const openai = new OpenAI({
    apiKey: "none",
    baseURL: `https://localhost:${gateway.port}/v1`,
  });
  const realtime = new OpenAIRealtimeWebSocket(
    { model: "gpt-realtime" },
    openai,
  );
  const errors: unknown[] = [];
  realtime.on("error", (error) => errors.push(error));
  let text = "";
  const used: unknown[] = [];
  realtime.on("response.output_text.delta", ({ delta }) => text += delta);
  realtime.on(
    "session.created",
    () => realtime.send({ type: "response.create" }),
  );
  realtime.on("response.done", ({ response }) => {
    used.push(response.usage?.total_tokens);
    realtime.send({ type: "response.create" });
  });
  const closed = await new Promise<CloseEvent>((resolve) =>
    realtime.socket.addEventListener("close", resolve)
  );

  assert.equal(text, "HelloHello");
  assert.deepEqual(used, [100, 100]);
  assert.deepEqual([closed.code, closed.reason], [1008, "rate limit exceeded"]);
  assert.equal(
    provider.upgrades[0]?.get("sec-websocket-protocol")?.split(",")[0],
    "realtime",
  );
});

/** The client opens sockets of the platform, which cannot be told whom to trust. */
function trusting(client: Deno.HttpClient): Disposable {
  const original = globalThis.WebSocket;
  globalThis.WebSocket = class extends original {
    constructor(
      url: string | URL,
      options?: string | string[] | WebSocketOptions,
    ) {
      const given = typeof options === "object" && !Array.isArray(options)
        ? options
        : { protocols: options ?? [] };
      super(url, { ...given, client });
    }
  };
  return {
    [Symbol.dispose]: () => void (globalThis.WebSocket = original),
  };
}
