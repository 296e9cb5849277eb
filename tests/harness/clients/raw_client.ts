import net from "node:net";
import tls from "node:tls";
import { Buffer } from "node:buffer";
import { InputBuffer } from "../../../src/http/http1/input_buffer.ts";
import { NodeTransport } from "../../../src/http/node_transport.ts";
import {
  findHeadEnd,
  parseResponseHead,
} from "../../../src/http/http1/head_parser.ts";
import type { HeaderList } from "../../../src/http/header_list.ts";
import { type Transport, writeAll } from "../../../src/http/transport.ts";
import { FramedBody } from "../../../src/http/http1/framed_body.ts";
import { responseFraming } from "../../../src/http/http1/framing.ts";

/** A response as received. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: string;
  readonly trailers: HeaderList | undefined;
}

/** A client that sends exactly the given bytes; strings have one character per byte. */
export class RawClient implements Disposable {
  readonly transport: Transport;
  readonly #input: InputBuffer;

  constructor(transport: Transport) {
    this.transport = transport;
    this.#input = new InputBuffer(transport);
  }

  /** @param ca If given, uses TLS and trusts this authority. */
  static async connect(port: number, ca?: string): Promise<RawClient> {
    if (ca === undefined) {
      return new RawClient(await Deno.connect({ hostname: "127.0.0.1", port }));
    }
    const socket = tls.connect({
      socket: net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }),
      servername: "localhost",
      ca,
      ALPNProtocols: ["http/1.1"],
    });
    await new Promise<void>((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return new RawClient(new NodeTransport(socket));
  }

  async send(text: string): Promise<void> {
    if (text === "") return;
    await writeAll(this.transport, Buffer.from(text, "latin1"));
  }

  /** Reads the next response, interim ones included; `undefined` if the server closed the connection. */
  async receive(method = "GET"): Promise<RawAnswer | undefined> {
    const input = this.#input;
    let headEnd = -1;
    while (headEnd < 0) {
      headEnd = findHeadEnd(input.bytes, input.start, input.end);
      if (headEnd < 0 && !await input.fill()) {
        if (input.available > 0) throw new Error("The response is incomplete");
        return undefined;
      }
    }
    const head = parseResponseHead(input.bytes, input.start, headEnd);
    input.start = headEnd;
    const { status, headers, minorVersion } = head;
    const framing = responseFraming(headers, status, method, minorVersion);
    const body = new FramedBody(input, framing, {
      waitingForBody: () => {},
      bodyEnded: () => {},
      bodyAbandoned: () => {},
      translateBodyError: (error) =>
        error instanceof Error ? error : new Error(String(error)),
    }, 65_536);
    let text = "";
    for (;;) {
      const chunk = await body.read();
      if (chunk === undefined) break;
      text += Buffer.from(chunk).toString("latin1");
    }
    return { status, headers, body: text, trailers: body.trailers };
  }

  /** Reads all responses until the server closes the connection. */
  async receiveAll(): Promise<RawAnswer[]> {
    const answers: RawAnswer[] = [];
    for (;;) {
      const answer = await this.receive();
      if (answer === undefined) return answers;
      answers.push(answer);
    }
  }

  [Symbol.dispose](): void {
    this.transport.close();
  }
}
