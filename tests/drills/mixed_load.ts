/** Clients of every kind, for drills that take time. */
import { connect } from "node:http2";
import { connectRaw } from "../harness/clients/raw_exchange.ts";
import { answer, type RawConnection } from "../harness/clients/raw_upstream.ts";
import { sleep } from "./drill.ts";

const EVENTS = 5;
const EVENT_PAUSE_MS = 200;
const HALF =
  "POST /rules HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n" +
  "x".repeat(50_000);

/** Counts of requests so far. */
export interface Tally {
  answered: number;
  failed: number;
  /** Responses that mix two configurations. */
  mixed: number;
}

/** Responds to every request; `/events` with a stream of events. */
export async function serveMixed(connection: RawConnection): Promise<void> {
  for (;;) {
    const request = await connection.request();
    if (!request.startsWith("GET /events")) {
      await connection.send(answer("ok"));
      continue;
    }
    await connection.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (let event = 0; event < EVENTS; event++) {
      await sleep(EVENT_PAUSE_MS);
      await connection.send("a\r\ndata: abcd\r\n");
    }
    await connection.send("0\r\n\r\n");
  }
}

/** Sends requests over HTTP/1.1 until aborted: the header `x-text` and the body have to be of one configuration. */
export async function sendHttp1(
  port: number,
  request: string,
  tally: Tally,
  { signal, pauseMs = 0 }: { signal: AbortSignal; pauseMs?: number },
): Promise<void> {
  let client = await connectRaw(port);
  while (!signal.aborted) {
    try {
      await client.send(request);
      count(tally, await client.request());
    } catch {
      tally.failed++;
      client.close();
      client = await connectRaw(port);
    }
    if (pauseMs > 0) await sleep(pauseMs);
  }
  client.close();
}

function count(tally: Tally, response: string): void {
  const [head = "", body = ""] = response.split("\r\n\r\n");
  const text = /^x-text: (.*)$/m.exec(head)?.[1]?.trim();
  if (!head.startsWith("HTTP/1.1 200")) tally.failed++;
  else if (text !== undefined && text !== body) tally.mixed++;
  else tally.answered++;
}

/** Sends requests over HTTP/2 until aborted, on a new connection after GOAWAY. */
export async function sendHttp2(
  port: number,
  path: string,
  tally: Tally,
  { signal, pauseMs = 0 }: { signal: AbortSignal; pauseMs?: number },
): Promise<void> {
  const open = () => {
    const session = connect(`http://127.0.0.1:${port}`);
    // Its requests report the error.
    session.on("error", () => {});
    return session;
  };
  let session = open();
  while (!signal.aborted) {
    if (session.closed || session.destroyed) session = open();
    await new Promise<void>((resolve) => {
      const stream = session.request({ ":path": path });
      let status: unknown;
      let text: unknown;
      let body = "";
      stream.on("response", (fields) => {
        status = fields[":status"];
        text = fields["x-text"];
      });
      stream.setEncoding("utf8");
      stream.on("data", (part) => body += part);
      stream.on("error", () => {
        tally.failed++;
        resolve();
      });
      stream.on("end", () => {
        if (status !== 200) tally.failed++;
        else if (text !== undefined && text !== body) tally.mixed++;
        else tally.answered++;
        resolve();
      });
    });
    if (pauseMs > 0) await sleep(pauseMs);
  }
  session.close();
}

/** Leaves bodies half sent, and connections with requests, until aborted. */
export async function misbehave(
  port: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const clients = await Promise.all([connectRaw(port), connectRaw(port)]);
    await clients[0]?.send(HALF);
    await clients[1]?.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    await sleep(500);
    for (const client of clients) client.close();
  }
}
