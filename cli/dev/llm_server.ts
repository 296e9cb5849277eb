import { type Clock, pause, systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import {
  anthropic,
  countTokens,
  createMessage,
} from "./llm/anthropic_messages.ts";
import { acceptsGzip, gzip, gzipStream } from "./llm/compression.ts";
import {
  type Dialect,
  type Endpoint,
  LlmError,
  type Reply,
  RequestFields,
} from "./llm/dialect.ts";
import { type Knobs, readKnobs } from "./llm/knobs.ts";
import { openAi } from "./llm/openai.ts";
import { completeChat } from "./llm/openai_chat.ts";
import { createEmbeddings, listModels } from "./llm/openai_embeddings.ts";
import { createResponse } from "./llm/openai_responses.ts";
import { type LoopbackServer, serveLoopback } from "./loopback_server.ts";

const endpoints: ReadonlyMap<string, Endpoint> = new Map([
  ["POST /v1/chat/completions", completeChat],
  ["POST /v1/responses", createResponse],
  ["POST /v1/embeddings", createEmbeddings],
  ["GET /v1/models", listModels],
  ["POST /v1/messages", createMessage],
  ["POST /v1/messages/count_tokens", countTokens],
]);

/** Options of the LLM server; every field has a default. */
export interface LlmServerOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  readonly clock?: Clock;
}

/**
 * Starts a server with the APIs of OpenAI and Anthropic: their streams, usage and errors, and an echo as the
 * model. Equal requests get responses of equal bytes. `Knobs` lists what request headers can change.
 */
export function startLlmServer(
  { port = 0, clock = systemClock }: LlmServerOptions = {},
): LoopbackServer {
  return serveLoopback(port, async (request) => {
    const { pathname } = new URL(request.url);
    const dialect = pathname.startsWith("/v1/messages") ? anthropic : openAi;
    const route = `${request.method} ${pathname}`;
    const body = await request.text();
    const id = await fingerprint(`${route}\n${body}`);
    const headers = new Headers({
      [dialect.requestIdHeader]: `req_${id}`,
      vary: "accept-encoding",
    });
    const compress = acceptsGzip(request.headers);
    try {
      const knobs = readKnobs(request.headers);
      const sleep = async (ms: number) => {
        if (ms > 0) await pause(clock, ms, request.signal);
      };
      await sleep(knobs.delayMs);
      const { json, events } = handleCall(route, { id, body, dialect, knobs });
      return json === undefined
        ? sendEvents(paceEvents(events, knobs, sleep), headers, compress)
        : sendJson(200, json, headers, compress);
    } catch (error) {
      if (!(error instanceof LlmError)) throw error;
      return sendJson(
        error.status,
        dialect.errorBody(error, `req_${id}`),
        headers,
        compress,
      );
    }
  });
}

interface RawCall {
  readonly id: string;
  readonly body: string;
  readonly dialect: Dialect;
  readonly knobs: Knobs;
}

function handleCall(
  route: string,
  { id, body, dialect, knobs }: RawCall,
): Reply {
  if (knobs.status !== undefined) {
    throw new LlmError(
      knobs.status,
      `Rejected because x-playground-status is ${knobs.status}`,
    );
  }
  const endpoint = endpoints.get(route);
  if (endpoint === undefined) {
    throw new LlmError(404, `Unknown request URL: ${route}`);
  }
  const fields = new RequestFields(
    route.startsWith("GET ") ? "{}" : body,
    dialect,
  );
  return endpoint({ id, fields });
}

async function* paceEvents(
  events: Iterable<string>,
  { eventDelayMs, cutAfter }: Knobs,
  sleep: (ms: number) => Promise<void>,
): AsyncIterable<Uint8Array<ArrayBuffer>> {
  let sent = 0;
  for (const event of events) {
    if (sent++ === cutAfter) {
      throw new Error(`Stream cut after ${cutAfter} events, as requested`);
    }
    await sleep(eventDelayMs);
    yield new TextEncoder().encode(event);
  }
}

function sendEvents(
  events: AsyncIterable<Uint8Array>,
  headers: Headers,
  compress: boolean,
): Response {
  headers.set("content-type", "text/event-stream; charset=utf-8");
  headers.set("cache-control", "no-cache");
  const stream = ReadableStream.from(events);
  if (!compress) return new Response(stream, { headers });
  headers.set("content-encoding", "gzip");
  return new Response(gzipStream(stream), { headers });
}

function sendJson(
  status: number,
  json: JsonObject,
  headers: Headers,
  compress: boolean,
): Response {
  headers.set("content-type", "application/json");
  const bytes = new TextEncoder().encode(JSON.stringify(json));
  if (!compress) return new Response(bytes, { status, headers });
  headers.set("content-encoding", "gzip");
  return new Response(gzip(bytes), { status, headers });
}

async function fingerprint(text: string): Promise<string> {
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(text),
  );
  return new Uint8Array(digest).toHex().slice(0, 24);
}
