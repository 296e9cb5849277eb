import { Cancellation } from "../../../base/cancellation.ts";
import type { Body } from "../../body.ts";
import type { HeldBytes } from "../../body_memory.ts";
import type { HeaderList } from "../../header_list.ts";
import type { HttpVersion, RequestMessage } from "../../message.ts";
import type { Peer } from "../../transport.ts";
import type { Client } from "./server_options.ts";

/** Sends interim responses for a request. */
export interface InformationalSender {
  sendInformational(status: number, headers: HeaderList): void;
}

/** Facts in the head of a request, in any version of HTTP. */
export interface RequestFacts extends
  Pick<
    RequestMessage,
    | "version"
    | "method"
    | "authority"
    | "target"
    | "headers"
    | "upgrade"
    | "expectsContinue"
  > {
  /** The original method, which determines the framing of the response. */
  readonly sentMethod: string;
  readonly acceptsTrailers: boolean;
}

/** A client's request, with the fields that its connection needs. */
export class ClientRequest implements RequestMessage {
  readonly version: HttpVersion;
  method: string;
  scheme: string;
  authority: string;
  target: string;
  headers: HeaderList;
  body: Body | undefined;
  readonly upgrade: string | undefined;
  readonly expectsContinue: boolean;
  readonly source: Peer;
  readonly serverName: string | undefined;
  readonly clientCertificate: string | undefined;
  readonly cancellation = new Cancellation();
  handledBy: unknown;
  held: HeldBytes | undefined;
  readonly sentMethod: string;
  readonly acceptsTrailers: boolean;
  readonly #sender: InformationalSender;

  constructor(
    facts: RequestFacts,
    client: Client,
    sender: InformationalSender,
  ) {
    this.version = facts.version;
    this.method = facts.method;
    this.scheme = client.scheme;
    this.authority = facts.authority;
    this.target = facts.target;
    this.headers = facts.headers;
    this.upgrade = facts.upgrade;
    this.expectsContinue = facts.expectsContinue;
    this.source = client.peer;
    this.serverName = client.serverName;
    this.clientCertificate = client.clientCertificate;
    this.sentMethod = facts.sentMethod;
    this.acceptsTrailers = facts.acceptsTrailers;
    this.#sender = sender;
  }

  sendInformational(status: number, headers: HeaderList): void {
    this.#sender.sendInformational(status, headers);
  }
}
