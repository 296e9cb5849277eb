import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import {
  addressOfUrl,
  type DocumentAddress,
  fetchDocument,
} from "../documents/document_client.ts";
import type { OAuthLibrary } from "./oauth_library.ts";
import type { ProofKey } from "./proof_key.ts";

/** Dependencies of requests to authorization servers. */
export interface ServerRequestOptions {
  readonly clock: Clock;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  /** Trusted CAs, PEM; by default those of the operating system. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Aborts requests when the gateway stops. */
  readonly cancellation: Cancellation;
}

/** The limits of a request. */
export interface ServerReach {
  readonly cancellation?: Cancellation | undefined;
  /** Returns where a URL is, after a look-up of its name; rejects what must not be asked. Default: all that the rules for egress allow. */
  readonly lookUp?: ((url: string) => Promise<DocumentAddress>) | undefined;
  /** Trusted CAs, PEM, in place of those of all requests. */
  readonly caCertificates?: readonly string[] | undefined;
  /** Proves the requests: what they get is bound to it. */
  readonly proofKey?: ProofKey | undefined;
}

/** A request of the library. */
interface LibraryRequest {
  readonly body?: URLSearchParams | string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends the requests of the library over connections of the gateway, with its rules for egress and its limits. */
export class ServerRequests {
  readonly #options: ServerRequestOptions;

  constructor(options: ServerRequestOptions) {
    this.#options = options;
  }

  /**
   * Returns options for a request to a server. A server that is asked over HTTPS is never asked in plain text, whatever its metadata
   * says.
   */
  options(
    issuer: string,
    oauth: OAuthLibrary,
    reach: ServerReach = {},
  ) {
    return {
      [oauth.allowInsecureRequests]: new URL(issuer).protocol === "http:",
      [oauth.customFetch]: (url: string, request: LibraryRequest) =>
        this.fetch(url, request, reach),
    };
  }

  /** Sends a request, without following redirects. */
  async fetch(
    url: string,
    { body, headers: sent }: LibraryRequest,
    {
      cancellation = this.#options.cancellation,
      caCertificates = this.#options.caCertificates,
      lookUp,
      proofKey,
    }: ServerReach = {},
  ): Promise<Response> {
    const dpop = await proofKey?.prove({
      method: body === undefined ? "GET" : "POST",
      url,
      now: this.#options.clock.now(),
    });
    const { "content-type": contentType, accept, authorization } = sent;
    const address = lookUp === undefined
      ? addressOfUrl(url, caCertificates)
      : await lookUp(url);
    const { status, headers, text } = await fetchDocument(address, {
      ...this.#options,
      cancellation,
      accept,
      authorization,
      dpop,
      ...(lookUp !== undefined && { isLookedUp: true }),
      ...(body !== undefined && { body: body.toString() }),
      ...(contentType !== undefined && { contentType }),
    });
    proofKey?.learn({ url }, headers.get("dpop-nonce"));
    return new Response(bodiless.has(status) ? null : text, {
      status,
      headers: [...headers].map(([name, value]): [string, string] => [
        name,
        value,
      ]),
    });
  }
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);
