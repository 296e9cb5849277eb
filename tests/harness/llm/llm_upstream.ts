import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { NodeUpstream } from "../servers/node_upstreams.ts";

/** The response of an LLM provider. */
export interface LlmAnswer {
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly status?: number;
  readonly coding?: keyof typeof codings;
  /** Sends the body and waits until the client disconnects. */
  readonly hangs?: boolean;
  /** Resets the connection after the body. */
  readonly breaks?: boolean;
  /** Sends nothing and waits until the client disconnects. */
  readonly isSilent?: boolean;
  /** Closes the connection in place of a response. */
  readonly closes?: boolean;
}

/** A request as a provider received it. */
export interface LlmRequestSeen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const codings = {
  gzip: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
} as const;

/** Encodes a body in a content coding. */
export function encode(
  body: Uint8Array,
  coding: keyof typeof codings | undefined,
): Uint8Array {
  if (coding === undefined) return body;
  const known = encoded.get(body)?.get(coding);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(codings[coding](body));
  encoded.set(body, new Map(encoded.get(body)).set(coding, bytes));
  return bytes;
}

/** Cached, because many tests send the same body many times. */
const encoded = new WeakMap<
  Uint8Array,
  ReadonlyMap<keyof typeof codings, Uint8Array>
>();

/** Acts as any LLM provider: responds to POST with the given response, to GET with `{}`. */
export class LlmUpstream implements AsyncDisposable {
  /** All requests except GET. */
  readonly requests: readonly LlmRequestSeen[];
  readonly #server: NodeUpstream;
  readonly #port: number;

  private constructor(
    server: NodeUpstream,
    port: number,
    requests: readonly LlmRequestSeen[],
  ) {
    this.#server = server;
    this.#port = port;
    this.requests = requests;
  }

  /** Starts it; `answer` receives the number of earlier requests. */
  static async start(
    answer: (request: LlmRequestSeen, index: number) => LlmAnswer,
  ): Promise<LlmUpstream> {
    const seen: LlmRequestSeen[] = [];
    const server = createServer(async (request, response) => {
      const { method = "", url = "", headers } = request;
      const body = await buffer(request);
      if (method === "GET") {
        response.setHeader("content-type", "application/json");
        return void response.end("{}");
      }
      const current = { method, url, headers, body: body.toString() };
      const told = answer(current, seen.push(current) - 1);
      if (told.isSilent) return;
      if (told.closes) return void response.destroy();
      const { status = 200, contentType, coding } = told;
      const bytes = encode(told.body, coding);
      response.writeHead(status, {
        "content-type": contentType,
        ...(coding && { "content-encoding": coding }),
        ...(told.hangs || told.breaks
          ? {}
          : { "content-length": String(bytes.length) }),
      });
      if (told.hangs) response.write(bytes);
      else if (told.breaks) response.write(bytes, () => response.destroy());
      else response.end(bytes);
    });
    const upstream = new NodeUpstream(server);
    await new Promise<void>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve())
    );
    const address = server.address();
    const port = typeof address === "object" ? address?.port ?? 0 : 0;
    return new LlmUpstream(upstream, port, seen);
  }

  get backends(): readonly [{ readonly host: string }] {
    return [{ host: `127.0.0.1:${this.#port}` }];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
