import { systemClock } from "../../../src/base/clock.ts";
import { type Body, textBody } from "../../../src/http/body.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type {
  Outcome,
  Reply,
  RequestHandler,
  RequestMessage,
} from "../../../src/http/message.ts";
import type { TlsConfig } from "../../../src/http/server/accept/certificate_table.ts";
import type {
  RejectedRequest,
  ServerObserver,
} from "../../../src/http/server/contract/observer.ts";
import type { ServerOptions } from "../../../src/http/server/contract/server_options.ts";
import { HttpServer } from "../../../src/http/server/http_server.ts";
import {
  respondToError,
  toGatewayError,
} from "../../../src/proxy/request/respond.ts";

/** Returns a JSON description of every request. */
export async function echo(request: RequestMessage): Promise<Reply> {
  let seen: unknown;
  let status = 200;
  try {
    const body = await readText(request.body);
    const { version, method, scheme, authority, target, upgrade } = request;
    seen = {
      version,
      method,
      scheme,
      authority,
      target,
      upgrade: upgrade ?? "",
      headers: [...request.headers],
      body,
      trailers: [...request.body?.trailers ?? []],
    };
  } catch (error) {
    const rejection = respondToError(toGatewayError(error));
    status = rejection.status;
  }
  const headers = HeaderList.from([["content-type", "application/json"]]);
  const response = {
    status,
    headers,
    body: textBody(JSON.stringify(seen ?? {})),
  };
  return { response, finished: () => {} };
}

/** Ignores all events. */
export const silentObserver: ServerObserver = {
  connectionOpened: () => {},
  connectionClosed: () => {},
  connectionRejected: () => {},
  acceptStalled: () => {},
  handshakeFailed: () => {},
  requestRejected: () => {},
};

/** A server for one test; disposing it closes its connections. */
export class TestServer implements AsyncDisposable {
  readonly server: HttpServer;
  /** Unexpected errors. */
  readonly reports: unknown[] = [];
  /** Events other than requests, in order. */
  readonly events: string[] = [];
  readonly refused: RejectedRequest[] = [];
  readonly observer: ServerObserver = {
    connectionOpened: (_peer, protocol) =>
      this.events.push(`opened ${protocol}`),
    connectionClosed: (_peer, reason) => this.#add(`closed: ${reason}`),
    connectionRejected: () => this.#add("rejected"),
    acceptStalled: () => this.#add("stalled"),
    handshakeFailed: (_peer, { reason }) => this.#add(`handshake: ${reason}`),
    requestRejected: (request) => this.refused.push(request),
  };
  readonly #waiting = new Map<string, () => void>();

  constructor(options: Partial<ServerOptions> = {}) {
    this.server = new HttpServer({
      handler: echo,
      reject: respondToError,
      report: (error) => this.reports.push(error),
      observer: this.observer,
      clock: systemClock,
      ...options,
    });
  }

  static async start(
    options?: Partial<ServerOptions>,
    tls?: TlsConfig,
  ): Promise<TestServer> {
    const started = new TestServer(options);
    await started.server.start({ hostname: "127.0.0.1", port: 0 }, tls);
    return started;
  }

  get port(): number {
    return this.server.addresses[0]?.port ?? 0;
  }

  /** Resolves after `event`. */
  async saw(event: string): Promise<void> {
    if (this.events.includes(event)) return;
    await new Promise<void>((resolve) => this.#waiting.set(event, resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close();
  }

  #add(event: string): void {
    this.events.push(event);
    this.#waiting.get(event)?.();
  }
}

/** Creates a handler with one response that records the outcomes. */
export function answering(
  text: string,
): { handler: RequestHandler; outcomes: Outcome[] } {
  const outcomes: Outcome[] = [];
  return {
    outcomes,
    handler: () => ({
      response: {
        status: 200,
        headers: new HeaderList(),
        body: textBody(text),
      },
      finished: (outcome) => void outcomes.push(outcome),
    }),
  };
}

/** Reads a whole body as a string with one character per byte. */
export async function readText(body: Body | undefined): Promise<string> {
  let text = "";
  for (;;) {
    const chunk = await body?.read();
    if (chunk === undefined) return text;
    for (const byte of chunk) text += String.fromCharCode(byte);
  }
}
