import { once } from "node:events";
import { Agent, type AgentOptions, request } from "node:https";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import type { IncomingMessage } from "node:http";

/** Performs a handshake without verification and returns the names in the certificate, such as `DNS:a.example`. */
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

/** An HTTP/1.1 client over TLS with one persistent connection at a time. */
export class TlsClient implements Disposable {
  readonly #agent: Agent;
  readonly #port: number;

  constructor(port: number, options: AgentOptions) {
    this.#port = port;
    this.#agent = new Agent({ ...options, keepAlive: true, maxSockets: 1 });
  }

  /** Sends `GET path` and returns status and body, such as `200 hello`. */
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
