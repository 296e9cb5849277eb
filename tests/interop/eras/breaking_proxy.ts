import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";

/** A proxy in front of a gateway; it breaks the first stream of each call of a tool whose name ends with `resume`. */
export interface BreakingProxy extends AsyncDisposable {
  readonly origin: string;
  /** Streams that it has broken. */
  readonly broken: number;
}

/** Starts the proxy. @param upstream Origin of the gateway. */
export async function startBreakingProxy(
  upstream: string,
): Promise<BreakingProxy> {
  let broken = 0;
  const server = createServer((request, response) => {
    void forward(upstream, request, response).then((isBroken) => {
      if (isBroken) broken++;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = Object(server.address());
  return {
    origin: `http://127.0.0.1:${port}`,
    get broken() {
      return broken;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Forwards a request; returns whether it has broken the response. */
async function forward(
  upstream: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { method = "GET", url = "/", headers: received } = request;
  const left = new AbortController();
  response.on("close", () => left.abort());
  try {
    const { host: _, connection: __, ...headers } = received;
    const body = await text(request);
    const answer = await fetch(`${upstream}${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]) => [
        name,
        String(value),
      ]),
      ...(body !== "" && { body }),
      signal: left.signal,
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    const isBroken = body.includes('_resume"') &&
      answer.headers.get("content-type") === "text/event-stream";
    let seen = "";
    for await (const chunk of answer.body ?? []) {
      await new Promise((resolve) => response.write(chunk, resolve));
      seen += new TextDecoder().decode(chunk);
      // The client can resume after an event, which has an id.
      if (isBroken && /^id: .*\n(?:.+\n)*\n/m.test(seen)) break;
    }
    if (isBroken) response.destroy();
    else response.end();
    return isBroken;
  } catch {
    // One of the two has gone.
    response.destroy();
    return false;
  }
}
