import { once } from "node:events";
import { Agent, type AgentOptions, request } from "node:https";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import type { IncomingMessage } from "node:http";

/** Shakes hands and answers the names in the certificate that is shown, such as `DNS:a.example`; nothing is verified. */
export async function namesShown(
  port: number,
  servername: string,
): Promise<string> {
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername,
    rejectUnauthorized: false,
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().subjectaltname ?? "";
  } finally {
    socket.destroy();
    await closed;
  }
}

/** A client of HTTP/1.1 over TLS with one connection at a time, which it keeps. */
export class TlsClient implements Disposable {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(port: number, options: AgentOptions) {
    this.#port = port;
    this.#agent = new Agent({ ...options, keepAlive: true, maxSockets: 1 });
  }

  /** The answer to `GET path`: `200 hello`. */
  async get(
    path = "/",
    servername = "localhost",
    host = servername,
  ): Promise<string> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request({
        agent: this.#agent,
        host: "127.0.0.1",
        port: this.#port,
        servername,
        path,
        headers: { host },
      }, resolve).on("error", reject).end();
    });
    return `${response.statusCode} ${await text(response)}`;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
