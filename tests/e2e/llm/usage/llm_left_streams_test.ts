/** Clients that leave recorded streams after any event. */
import assert from "node:assert/strict";
import { HeldUpstream, until } from "../../../harness/servers/held_upstream.ts";
import { fetchRaw } from "../../../harness/clients/fetch_raw.ts";
import { startTestGateway } from "../../../harness/gateway/gateway.ts";
import { namedEvents } from "../../../unit/llm/llm_responses.ts";

/** Recorded responses of real providers; they are not part of this repository. */
const directory = new URL(
  "../../../../../shared/vectors/llm/",
  import.meta.url,
);
const BUDGET = 2_000_000_000;

interface Recorded {
  readonly stream: boolean;
  readonly uri: string;
  readonly body: string;
  readonly expect: { readonly debit: number };
}

const written: Recorded = {
  stream: true,
  uri: "/v1/messages",
  body: namedEvents(
    {
      type: "message_start",
      ...{ message: { usage: { input_tokens: 70, output_tokens: 1 } } },
    },
    { type: "content_block_delta", ...{ delta: { text: "word ".repeat(20) } } },
    { type: "message_delta", ...{ usage: { output_tokens: 500 } } },
    { type: "message_stop" },
  ),
  expect: { debit: 570 },
};

const streams = [...await readStreams(), ["written", written] as const];

for (const [name, { uri, body, expect: { debit } }] of streams) {
  Deno.test(`a client that leaves stream ${name} after any event is charged exactly what the provider reports`, async () => {
    await using upstream = await HeldUpstream.start();
    await using gateway = await startTestGateway({
      config: { workers: 1 },
      routes: [{
        name: "llm",
        backends: upstream.backends,
        policies: { rateLimit: { local: [{ tokens: BUDGET, unit: "Days" }] } },
      }],
    });
    const events = body.split(/(?<=\n\n)/);
    const used = async () => {
      const { headers } = await fetchRaw(`${gateway.origin}/probe`);
      return BUDGET - Number(headers["x-ratelimit-remaining"]);
    };

    for (let seen = 1; seen < events.length; seen++) {
      const leaving = new AbortController();
      const responding = fetch(gateway.origin + uri, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
        signal: leaving.signal,
      });
      await until(() => upstream.waiting.length === 1);
      const [answer] = upstream.waiting.splice(0);
      answer?.writeHead(200, { "content-type": "text/event-stream" });
      answer?.write(events.slice(0, seen).join(""));
      await (await responding).body?.getReader().read();
      leaving.abort();
      answer?.end(events.slice(seen).join(""));
      await until(async () => await used() === seen * debit);
    }

    assert.equal(await used(), (events.length - 1) * debit);
  });
}

async function readStreams(): Promise<(readonly [string, Recorded])[]> {
  const found: (readonly [string, Recorded])[] = [];
  try {
    for await (const { name } of Deno.readDir(directory)) {
      const text = await Deno.readTextFile(new URL(name, directory));
      const recorded: Recorded = JSON.parse(text);
      if (recorded.stream) found.push([name, recorded]);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found;
}
