import { GatewayError } from "../../../base/errors.ts";
import { type BodyOwner, FramedBody } from "../../http1/framed_body.ts";
import type { RequestHead } from "../../http1/head_parser.ts";
import type { HeaderList } from "../../header_list.ts";
import type { Reply, ResponseMessage } from "../../message.ts";
import type { ClientLink } from "../downstream_connection.ts";
import { Http1Request } from "./http1_request.ts";
import {
  clientGone,
  handlerFailed,
  responseComplete,
  StalledClientError,
  toRequestError,
} from "../request_error.ts";
import { informationalHead, prepareResponse } from "./response_head.ts";
import { SWITCHING_PROTOCOLS, switchProtocols } from "./switch_protocols.ts";

const CONTINUE = 100;

/** One request and its response on a connection of HTTP/1.x. */
export class Http1Exchange implements BodyOwner {
  readonly request: Http1Request;
  readonly #link: ClientLink;
  readonly #body: FramedBody | undefined;
  #bodyState: "open" | "ended" | "abandoned" = "ended";
  #response: ResponseMessage | undefined;
  #continued = false;
  #skipping = false;
  #finished = false;
  #interim: Promise<void> | undefined;
  /** Why the exchange was given up. */
  #failure: GatewayError | undefined;
  #stopGrace: (() => void) | undefined;

  /** @throws {GatewayError | HttpSyntaxError} When the head is not a request we accept. */
  constructor(head: RequestHead, link: ClientLink) {
    this.#link = link;
    this.request = new Http1Request(head, link.client, this);
    const { framing } = this.request;
    if (framing === 0) return;
    this.#bodyState = "open";
    this.request.body = this.#body = new FramedBody(
      link.input.buffer,
      framing,
      this,
      link.context.limits.maxHeaderBytes,
    );
  }

  /** Has the request handled and delivers the reply; resolves with whether the connection can serve another one. */
  async run(): Promise<boolean> {
    const link = this.#link;
    link.bytesSent = 0;
    if (this.#bodyState === "ended") link.input.readAhead();
    let reply: Reply;
    try {
      const answer = link.context.handler(this.request);
      reply = answer instanceof Promise ? await answer : answer;
    } catch (error) {
      link.context.report(error);
      const response = link.context.reject(handlerFailed(error));
      reply = { response, finished: () => {} };
    }
    let persists = false;
    let error: unknown;
    try {
      persists = await this.#send(reply.response);
    } catch (thrown) {
      error = this.#failure ??
        (link.transport.broken ? clientGone(thrown) : thrown);
      link.close();
      reply.response.body?.cancel(error);
      reply.response.tunnel?.transport.close();
    }
    this.#finished = true;
    this.#stopGrace?.();
    reply.finished({ bytesSent: link.bytesSent, error });
    return persists && (this.#bodyState === "ended" || await this.#skipBody());
  }

  /** The client ended its side; it may still read, so it is given a moment. */
  clientEnded(): void {
    if (this.#finished) return;
    const { bytesSent, context } = this.#link;
    this.#stopGrace = context.clock.setTimer(() => {
      if (this.#link.bytesSent > bytesSent) this.clientEnded();
      else this.#giveUp("Cannot answer: the client is gone");
    }, context.limits.halfCloseGraceMs);
  }

  /** The client's connection broke. */
  clientLost(error: unknown): void {
    this.cut(toRequestError(error));
  }

  /** Gives the exchange up: the handler, the body and the outcome get `failure` as the reason. */
  cut(failure: GatewayError): void {
    this.#failure ??= failure;
    this.request.cancellation.cancel(this.#failure);
    this.#link.close();
    this.#response?.body?.cancel(this.#failure);
  }

  /** The client did not send its body in time. */
  readExpired(): void {
    if (this.#skipping || this.#response !== undefined) {
      return this.#link.close();
    }
    const failure = timedOut("Cannot read the body: the client sent nothing");
    this.#failure = failure;
    this.request.cancellation.cancel(failure);
    // The handler may be anywhere; the client is told at once.
    void this.#link.reject(failure).finally(() => this.#link.close());
  }

  /** The client did not take the response in time. */
  writeExpired(): void {
    this.cut(new StalledClientError());
  }

  sendInformational(status: number, headers: HeaderList): void {
    const isInterim = status > SWITCHING_PROTOCOLS && status < 200;
    if (!isInterim || this.request.version === "1.0") return;
    void this.#sendInterim(informationalHead(status, headers));
  }

  waitingForBody(): void | Promise<void> {
    // Behind an early response the client sends when it likes.
    if (this.#response !== undefined) return;
    const { transport, context: { limits, wheel } } = this.#link;
    transport.limitRead(wheel.after(limits.bodyIdleTimeoutMs));
    if (!this.request.expectsContinue || this.#continued) return;
    this.#continued = true;
    return this.#sendInterim(informationalHead(CONTINUE, undefined));
  }

  bodyEnded(): void {
    this.#bodyState = "ended";
    this.#link.input.buffer.shrink();
    this.#link.input.readAhead();
  }

  bodyAbandoned(): void {
    this.#bodyState = "abandoned";
  }

  translateBodyError(error: unknown): Error {
    return this.#failure ?? toRequestError(error);
  }

  async #send(response: ResponseMessage): Promise<boolean> {
    const link = this.#link;
    if (this.#interim !== undefined) await this.#interim;
    if (this.#failure !== undefined) throw this.#failure;
    this.#response = response;
    if (response.status === SWITCHING_PROTOCOLS) {
      await switchProtocols(link, this.request, response);
      return false;
    }
    const { head, body, framing, persists } = prepareResponse(response, {
      request: this.request,
      persists: this.#mayPersist(),
      date: link.context.date(),
    });
    link.bytesSent = await link.writer.writeMessage(
      head,
      body,
      framing,
      link.countBytes,
    );
    if (framing === "none") body?.cancel("there is no body in this response");
    return persists;
  }

  #mayPersist(): boolean {
    const { input, retiring, context } = this.#link;
    if (!this.request.persists || retiring || !input.open) return false;
    if (this.#bodyState !== "open") return this.#bodyState === "ended";
    // Without a 100 nobody knows whether the body will come.
    if (this.request.expectsContinue && !this.#continued) return false;
    const length = this.#body?.length ?? 0;
    return length <= context.limits.maxDrainBytes;
  }

  /** Reads on to the next request, if that is not far. */
  async #skipBody(): Promise<boolean> {
    const body = this.#body;
    if (body === undefined || this.#bodyState !== "open") return false;
    if (body.started) {
      // Somebody may still be at it, holding a view of the buffer.
      body.cancel(responseComplete());
      return false;
    }
    this.#skipping = true;
    return await this.#link.skip(body);
  }

  #sendInterim(head: string): Promise<void> {
    const previous = this.#interim ?? Promise.resolve();
    if (this.#response !== undefined || this.#failure !== undefined) {
      return previous;
    }
    // What fails here fails again with the response.
    return this.#interim = previous
      .then(() => this.#link.writer.writeMessage(head, undefined, "none"))
      .then(() => {}, () => {});
  }

  #giveUp(message: string): void {
    this.cut(new GatewayError("client_closed", "downstream", message));
  }
}

function timedOut(message: string): GatewayError {
  return new GatewayError("request_timeout", "downstream", message);
}
