import assert from "node:assert/strict";
import { GatewayError } from "../../../src/base/errors.ts";
import { type Body, textBody } from "../../../src/http/body.ts";
import { HeaderList } from "../../../src/http/header_list.ts";
import type {
  Outcome,
  RequestHandler,
  RequestMessage,
  ResponseMessage,
} from "../../../src/http/message.ts";
import { Http1ServerConnection } from "../../../src/http/server/http1/http1_server_connection.ts";
import {
  defaultLimits,
  type ServerLimits,
} from "../../../src/http/server/contract/server_options.ts";
import { createDateSource } from "../../../src/http/server/http1/response_head.ts";
import { TimerWheel } from "../../../src/http/timer_wheel.ts";
import { respondToError } from "../../../src/proxy/request/respond.ts";
import { FakeClock } from "../../harness/time/fake_clock.ts";
import { readText, silentObserver } from "../../harness/servers/echo_server.ts";
import {
  MemoryTransport,
  settle,
} from "../../harness/gateway/memory_transport.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const DATE = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n";

/** A connection in memory with its observable effects. */
class Subject {
  readonly clock = new FakeClock();
  readonly client = new MemoryTransport();
  readonly outcomes: Outcome[] = [];
  readonly requests: RequestMessage[] = [];
  readonly reports: unknown[] = [];
  readonly connection: Http1ServerConnection;
  readonly done: Promise<Uint8Array | undefined>;

  constructor(
    answer: (
      request: RequestMessage,
    ) => ResponseMessage | Promise<ResponseMessage>,
    limits: Partial<ServerLimits> = {},
  ) {
    const handler: RequestHandler = async (request) => {
      this.requests.push(request);
      const response = await answer(request);
      return {
        response,
        finished: (outcome) => void this.outcomes.push(outcome),
      };
    };
    this.connection = new Http1ServerConnection(
      this.client,
      {
        peer: { address: "192.0.2.1", port: 1 },
        scheme: "http",
        serverName: undefined,
      },
      {
        handler,
        reject: respondToError,
        report: (error) => this.reports.push(error),
        observer: silentObserver,
        clock: this.clock,
        limits: { ...defaultLimits, ...limits },
        wheel: new TimerWheel(this.clock),
        date: createDateSource(this.clock),
      },
    );
    this.done = this.connection.run();
  }

  /** Sends bytes as the client and waits for the result. */
  async send(text: string): Promise<string> {
    const before = this.client.written.length;
    this.client.give(text);
    await settle();
    return this.client.written.slice(before);
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settle();
  }

  /** Disconnects the client; everything must end. */
  async hangUp(): Promise<void> {
    this.client.end();
    await settle();
    this.clock.advance(600_000);
    await this.done;
    assert.equal(this.clock.pending, 0);
    assert.ok(this.client.closed);
  }
}

function ok(body?: Body, ...fields: [string, string][]): ResponseMessage {
  return { status: 200, headers: HeaderList.from(fields), body };
}

/** A body that the test writes to. */
class PushedBody implements Body {
  readonly length = undefined;
  trailers: HeaderList | undefined;
  cancelled: unknown;
  #waiting: PromiseWithResolvers<Uint8Array | undefined> | undefined;
  readonly #chunks: (Uint8Array | undefined)[] = [];

  push(text: string | undefined): void {
    const chunk = text === undefined
      ? undefined
      : new TextEncoder().encode(text);
    if (this.#waiting === undefined) this.#chunks.push(chunk);
    else this.#waiting.resolve(chunk);
    this.#waiting = undefined;
  }

  fail(error: Error): void {
    this.#waiting?.reject(error);
  }

  read(): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    if (this.#chunks.length > 0) return this.#chunks.shift();
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  cancel(reason: unknown): void {
    this.cancelled = reason;
    this.#waiting?.reject(reason);
  }
}

Deno.test("Http1ServerConnection responds in one write", async () => {
  const subject = new Subject(() => ok(textBody("hi"), ["X-A", "b"]));

  const answer = await subject.send(GET);

  assert.equal(
    answer,
    `HTTP/1.1 200 OK\r\nX-A: b\r\ncontent-length: 2\r\n${DATE}\r\nhi`,
  );
  assert.equal(subject.client.writes, 1);
  assert.deepEqual(subject.outcomes, [{ bytesSent: 2, error: undefined }]);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection responds to pipelined requests in order", async () => {
  const subject = new Subject((request) => ok(textBody(request.target)));

  const answer = await subject.send(
    ["/1", "/2", "/3"].map((path) => GET.replace("/", path)).join(""),
  );

  assert.deepEqual(answer.match(/\/\d$|\/\d(?=HTTP)/g), ["/1", "/2", "/3"]);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection reads a request byte by byte", async () => {
  const subject = new Subject(async (request) =>
    ok(textBody(await readText(request.body)))
  );

  const bytes =
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
    GET;
  for (const byte of bytes) await subject.send(byte);

  assert.equal(subject.requests.length, 2);
  assert.match(subject.client.written, /\r\n\r\nabcHTTP/);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection selects the framing by body and version", async (t) => {
  const stream = () => {
    const body = new PushedBody();
    body.trailers = HeaderList.from([["X-Sum", "1"]]);
    body.push("abc");
    body.push(undefined);
    return body;
  };
  const cases: readonly [string, string, () => ResponseMessage, RegExp][] = [
    ["no body", GET, () => ok(), /\r\ncontent-length: 0\r\n.*\r\n\r\n$/s],
    [
      "wrong length",
      GET,
      () => ok(textBody("abc"), ["Content-Length", "9"]),
      /Content-Length: 3\r\n.*\r\n\r\nabc$/s,
    ],
    [
      "chunked",
      GET,
      () => ok(stream()),
      /\r\nTransfer-Encoding: chunked\r\n.*\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/s,
    ],
    [
      "stale length",
      GET,
      () => ok(stream(), ["Content-Length", "9"]),
      /^(?!.*Content-Length).*0\r\n\r\n$/s,
    ],
    [
      "trailers",
      GET.replace("\r\n\r\n", "\r\nTE: trailers\r\n\r\n"),
      () => ok(stream()),
      /0\r\nX-Sum: 1\r\n\r\n$/,
    ],
    [
      "HEAD",
      GET.replace("GET", "HEAD"),
      () => ok(textBody("abc")),
      /content-length: 3\r\n.*\r\n\r\n$/s,
    ],
    [
      "HEAD of a stream",
      GET.replace("GET", "HEAD"),
      () => ok(undefined, ["Content-Length", "7"]),
      /Content-Length: 7\r\n.*\r\n\r\n$/s,
    ],
    [
      "204",
      GET,
      () => ({ ...ok(textBody("abc")), status: 204 }),
      /^HTTP\/1.1 204 No Content\r\nDate: [^\r]*\r\n\r\n$/,
    ],
    [
      "304",
      GET,
      () => ({ ...ok(undefined, ["Content-Length", "7"]), status: 304 }),
      /Content-Length: 7\r\n.*\r\n\r\n$/s,
    ],
    [
      "unknown status",
      GET,
      () => ({ ...ok(), status: 299 }),
      /^HTTP\/1.1 299 \r\n/,
    ],
    [
      "date of its own",
      GET,
      () => ok(undefined, ["date", "now"]),
      /^(?!.*2026).*date: now/s,
    ],
    [
      "HTTP/1.0",
      "GET / HTTP/1.0\r\n\r\n",
      () => ok(stream()),
      /Connection: close\r\n\r\nabc$/,
    ],
    [
      "HTTP/1.0 kept alive",
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      () => ok(textBody("abc")),
      /Connection: keep-alive\r\n\r\nabc$/,
    ],
    [
      "close",
      GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
      () => ok(textBody("abc")),
      /Connection: close\r\n\r\nabc$/,
    ],
  ];
  for (const [name, request, answer, expected] of cases) {
    await t.step(name, async () => {
      const subject = new Subject(answer);

      assert.match(await subject.send(request), expected);
      assert.equal(subject.outcomes[0]?.error, undefined);

      await subject.hangUp();
    });
  }
});

Deno.test("Http1ServerConnection forwards each chunk of a stream immediately", async () => {
  const body = new PushedBody();
  const subject = new Subject(() => ok(body));

  assert.match(await subject.send(GET), /\r\n\r\n$/);
  body.push("one");
  await settle();
  assert.match(subject.client.written, /3\r\none\r\n$/);
  body.push(undefined);
  await settle();
  assert.match(subject.client.written, /0\r\n\r\n$/);

  await subject.hangUp();
});

Deno.test("Http1ServerConnection aborts a response whose body fails", async () => {
  const body = new PushedBody();
  const subject = new Subject(() => ok(body));
  await subject.send(GET);
  body.push("one");
  await settle();

  body.fail(new Error("upstream broke"));
  await subject.done;

  assert.ok(subject.client.written.endsWith("one\r\n"));
  assert.ok(subject.client.closed);
  assert.match(String(subject.outcomes[0]?.error), /upstream broke/);
  assert.equal(subject.outcomes[0]?.bytesSent, 3);
});

Deno.test("Http1ServerConnection aborts a response that is shorter than declared", async () => {
  const body = {
    ...textBody("abc"),
    length: 5,
    read: () => undefined,
    cancel: () => {},
  };
  const subject = new Subject(() => ok(body));

  await subject.send(GET);
  await subject.done;

  assert.ok(subject.client.closed);
  assert.ok(subject.outcomes[0]?.error instanceof RangeError);
});

Deno.test("Http1ServerConnection requests a body only when it is read", async () => {
  const head =
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  const reading = new Subject(async (request) =>
    ok(textBody(await readText(request.body)))
  );
  const refusing = new Subject(() => ok());

  assert.equal(await reading.send(head), "HTTP/1.1 100 Continue\r\n\r\n");
  assert.match(await reading.send("abc"), /^HTTP\/1.1 200 OK\r\n.*abc$/s);
  // The client may or may not send the body, so the connection cannot be reused.
  assert.match(
    await refusing.send(head),
    /^HTTP\/1.1 200 OK\r\n.*Connection: close/s,
  );

  await reading.hangUp();
  await refusing.hangUp();
});

Deno.test("Http1ServerConnection sends interim responses before the final one only", async () => {
  const subject = new Subject((request) => {
    request.sendInformational(103, HeaderList.from([["Link", "</a>"]]));
    setTimeout(() => request.sendInformational(103, new HeaderList()), 0);
    return ok();
  });

  const answer = await subject.send(GET);
  await settle();

  assert.match(
    answer,
    /^HTTP\/1.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1.1 200 OK/,
  );
  assert.equal(subject.client.written, answer);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection sends no interim response to HTTP/1.0", async () => {
  const subject = new Subject((request) => {
    request.sendInformational(103, new HeaderList());
    return ok();
  });

  assert.match(await subject.send("GET / HTTP/1.0\r\n\r\n"), /^HTTP\/1.1 200/);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection discards a small unread body", async () => {
  const subject = new Subject(() => ok());

  const answer = await subject.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n",
  );
  assert.doesNotMatch(answer, /Connection: close/);
  assert.match(await subject.send("abc" + GET), /^HTTP\/1.1 200 OK/);

  assert.equal(subject.requests.length, 2);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection closes instead of discarding a large body", async () => {
  const subject = new Subject(() => ok(), { maxDrainBytes: 10 });

  const known = await subject.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n",
  );

  assert.match(known, /Connection: close/);
  await subject.send("x".repeat(50));
  await subject.done;
  assert.equal(subject.requests.length, 1);
});

Deno.test("Http1ServerConnection stops discarding a body that does not arrive", async () => {
  const subject = new Subject(() => ok());
  await subject.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");

  await subject.advance(3_500);

  await subject.done;
});

Deno.test("Http1ServerConnection cancels the handler when the client disconnects", async (t) => {
  const waiting = () => new Promise<ResponseMessage>(() => {});

  await t.step("immediately when the connection fails", async () => {
    const subject = new Subject(waiting);
    await subject.send(GET);
    subject.client.break();
    await settle();
    assert.equal(subject.requests[0]?.cancellation.cancelled, true);
    assert.ok(subject.client.closed);
    subject.connection.close();
  });

  await t.step("after a grace period when it half-closes", async () => {
    const subject = new Subject(waiting);
    await subject.send(
      GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    );
    subject.client.end();
    await settle();
    await subject.advance(499);
    assert.equal(subject.requests[0]?.cancellation.cancelled, false);
    await subject.advance(1);
    assert.equal(subject.requests[0]?.cancellation.cancelled, true);
  });

  await t.step("earlier if it wanted to keep the connection", async () => {
    const subject = new Subject(waiting);
    await subject.send(GET);
    subject.client.end();
    await settle();
    assert.equal(subject.requests[0]?.cancellation.cancelled, false);
    await subject.advance(100);
    assert.equal(subject.requests[0]?.cancellation.cancelled, true);
  });
});

Deno.test("Http1ServerConnection responds to a half-closed client in time", async () => {
  const reply = Promise.withResolvers<ResponseMessage>();
  const subject = new Subject(() => reply.promise);
  await subject.send(GET);
  subject.client.end();
  await settle();

  reply.resolve(ok(textBody("late")));
  await subject.done;

  assert.match(subject.client.written, /Connection: close.*late$/s);
  assert.equal(subject.outcomes[0]?.error, undefined);
  assert.equal(subject.clock.pending, 0);
});

Deno.test("Http1ServerConnection reports a disconnected client when it cannot write", async () => {
  const subject = new Subject(() => ok(textBody("hello")));
  const broken = Promise.reject(new Deno.errors.BrokenPipe("gone"));
  broken.catch(() => {});
  subject.client.writable = broken;

  await subject.send(GET);
  await subject.done;

  const error = subject.outcomes[0]?.error;
  assert.ok(error instanceof GatewayError);
  assert.equal(error.code, "client_closed");
});

Deno.test("Http1ServerConnection finishes a late reply", async () => {
  const reply = Promise.withResolvers<ResponseMessage>();
  const body = new PushedBody();
  const subject = new Subject(() => reply.promise);
  await subject.send(GET);
  subject.client.break();
  await settle();

  reply.resolve(ok(body));
  await subject.done;

  assert.equal(subject.outcomes.length, 1);
  assert.match(String(subject.outcomes[0]?.error), /connection lost/);
  assert.notEqual(body.cancelled, undefined);
  assert.equal(subject.client.written, "");
});

Deno.test("Http1ServerConnection aborts a stream when the client disconnects", async () => {
  const body = new PushedBody();
  const subject = new Subject(() => ok(body));
  await subject.send(GET);

  subject.client.break();
  await subject.done;

  assert.notEqual(body.cancelled, undefined);
  assert.equal(subject.requests[0]?.cancellation.cancelled, true);
  assert.equal(subject.outcomes.length, 1);
});

Deno.test("Http1ServerConnection survives a handler that throws", async () => {
  const subject = new Subject(() => {
    throw new Error("bug");
  });

  assert.match(await subject.send(GET), /^HTTP\/1.1 500 /);
  assert.match(await subject.send(GET), /^HTTP\/1.1 500 /);

  assert.equal(subject.reports.length, 2);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection does not wait forever", async (t) => {
  const cases: readonly {
    name: string;
    sent: string;
    ms: number;
    answer: RegExp;
  }[] = [
    { name: "for the first byte", sent: "", ms: 16_000, answer: /^$/ },
    {
      name: "for the rest of a head",
      sent: "GET /",
      ms: 16_000,
      answer: /^HTTP\/1.1 408 /,
    },
    {
      name: "for the next request",
      sent: GET,
      ms: 76_000,
      answer: /^HTTP\/1.1 200 OK/,
    },
    {
      name: "for the rest of the next head",
      sent: GET + "GET",
      ms: 16_000,
      answer: /HTTP\/1.1 408 /,
    },
    {
      name: "for a body",
      sent: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
      ms: 61_000,
      answer: /^HTTP\/1.1 408 /,
    },
  ];
  for (const { name, sent, ms, answer } of cases) {
    await t.step(name, async () => {
      const subject = new Subject(async (request) =>
        ok(textBody(await readText(request.body)))
      );
      await subject.send(sent);

      await subject.advance(ms - 2_000);
      assert.equal(subject.client.closed, false);
      await subject.advance(2_000);
      await subject.done;

      assert.match(subject.client.written, answer);
      assert.equal(subject.clock.pending, 0);
    });
  }
});

Deno.test("Http1ServerConnection limits the time of a slow head", async () => {
  const subject = new Subject(() => ok());

  for (let i = 0; i < 20; i++) {
    await subject.send("GET / HTTP/1.1\r\n"[i] ?? "x");
    await subject.advance(1_000);
  }

  await subject.done;
  assert.match(subject.client.written, /^HTTP\/1.1 408 /);
});

Deno.test("Http1ServerConnection has no time limit for handlers", async () => {
  const reply = Promise.withResolvers<ResponseMessage>();
  const subject = new Subject(() => reply.promise);
  await subject.send(GET);

  await subject.advance(3_600_000);
  reply.resolve(ok(textBody("done")));
  await settle();

  assert.match(subject.client.written, /done$/);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection disconnects a client that does not read", async () => {
  const subject = new Subject(() => ok(textBody("x")));
  const blocked = Promise.withResolvers<void>();
  subject.client.writable = blocked.promise;
  await subject.send(GET);

  await subject.advance(61_000);
  assert.ok(subject.client.closed);
  blocked.resolve();
  await subject.done;

  assert.match(String(subject.outcomes[0]?.error), /does not read/);
});

Deno.test("Http1ServerConnection disconnects a client that reads less than 240 bytes per second", async () => {
  const subject = new Subject(() => ok(textBody("x".repeat(10_000))));
  subject.client.takes = 100;
  let turn = Promise.withResolvers<void>();
  subject.client.writable = turn.promise;
  await subject.send(GET);

  for (let reads = 0; reads < 5 && !subject.client.closed; reads++) {
    await subject.advance(20_000);
    const { resolve } = turn;
    turn = Promise.withResolvers<void>();
    subject.client.writable = turn.promise;
    resolve();
    await settle();
  }
  assert.ok(subject.client.closed);
  turn.resolve();
  await subject.done;

  assert.match(
    String(subject.outcomes[0]?.error),
    /does not read \(slower than 240 bytes per second\)/,
  );
});

Deno.test("Http1ServerConnection finishes the request in progress when it retires", async () => {
  const reply = Promise.withResolvers<ResponseMessage>();
  const busy = new Subject(() => reply.promise);
  const idle = new Subject(() => ok());
  await busy.send(GET);
  await idle.send(GET);

  busy.connection.retire();
  idle.connection.retire();
  await idle.advance(100);
  await idle.done;
  assert.equal(busy.client.closed, false);
  reply.resolve(ok());
  await settle();

  assert.match(busy.client.written, /Connection: close/);
  await busy.hangUp();
});

Deno.test("Http1ServerConnection serves a request in flight when it retires", async () => {
  const subject = new Subject(() => ok());
  await subject.send(GET);
  subject.connection.retire();

  await subject.advance(99);
  await subject.send(GET);
  await subject.hangUp();

  const answers = subject.client.written.split("HTTP/1.1 200");
  assert.equal(answers.length - 1, 2);
  assert.match(answers.at(-1) ?? "", /Connection: close/);
});

Deno.test("Http1ServerConnection hands a connection over to HTTP/2", async () => {
  const subject = new Subject(() => ok());
  const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  subject.client.give(preface);
  const early = await subject.done;

  assert.equal(new TextDecoder().decode(early), preface);
  assert.equal(subject.client.closed, false);
});

Deno.test("Http1ServerConnection splices a tunnel", async (t) => {
  const request =
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
  const open = async () => {
    const upstream = new MemoryTransport();
    const subject = new Subject(() => ({
      status: 101,
      headers: HeaderList.from([["Sec-WebSocket-Accept", "x"]]),
      body: undefined,
      tunnel: { transport: upstream, early: new TextEncoder().encode("early") },
    }));
    const answer = await subject.send(request + "first");
    return { upstream, subject, answer };
  };

  await t.step("both ways", async () => {
    const { upstream, subject, answer } = await open();
    assert.equal(
      answer,
      "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly",
    );
    assert.equal(upstream.written, "first");

    upstream.give("down");
    assert.match(await subject.send("up"), /down$/);
    assert.equal(upstream.written, "firstup");

    upstream.end();
    await settle();
    assert.ok(subject.client.ended);
    assert.equal(subject.client.closed, false);
    await subject.send("bye");
    subject.client.end();
    await subject.done;
    assert.equal(upstream.written, "firstupbye");
    assert.ok(upstream.ended && upstream.closed && subject.client.closed);
    assert.deepEqual(subject.outcomes, [{ bytesSent: 9, error: undefined }]);
    assert.equal(subject.clock.pending, 0);
  });

  await t.step("until one side fails", async () => {
    const { upstream, subject } = await open();
    upstream.break();
    await subject.done;
    assert.ok(upstream.closed && subject.client.closed);
    assert.match(String(subject.outcomes[0]?.error), /reset/);
  });

  await t.step("for a limited time after one side has ended", async () => {
    const { upstream, subject } = await open();
    upstream.end();
    await settle();
    await subject.advance(61_000);
    await subject.done;
    assert.ok(upstream.closed && subject.client.closed);
  });
});

Deno.test("Http1ServerConnection reads the body of a request that arrived before the previous response was sent", async () => {
  const subject = new Subject(async ({ body }) =>
    ok(textBody(`got ${await readText(body)}`))
  );
  const writable = Promise.withResolvers<void>();
  subject.client.writable = writable.promise;
  await subject.send(GET);
  await subject.send(
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc",
  );

  writable.resolve();
  await settle();
  const answer = await subject.send("def");

  assert.match(answer, /\r\n\r\ngot abcdef$/);
  await subject.hangUp();
});

Deno.test("Http1ServerConnection that is retired twice keeps no timer when it ends", async () => {
  const subject = new Subject(() => ok());

  // As for a connection that waits in the queue of a port when that closes.
  subject.connection.retire();
  subject.connection.retire();
  subject.client.end();
  await subject.done;

  assert.equal(subject.clock.pending, 0);

  subject.connection.retire();
  assert.equal(subject.clock.pending, 0);
});
