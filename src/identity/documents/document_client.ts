import { Cancellation, createDeadline } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { redactUrl } from "../../base/redaction.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import { type Body, textBody } from "../../http/body.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { type UpstreamOptions } from "../../http/client/upstream.ts";
import { createUpstream } from "../../http/client/pool/pooled_upstream.ts";
import { HeaderList } from "../../http/header_list.ts";
import { showValues } from "../../base/log/log_text.ts";

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 5000;

/** A document server: where to connect, and the authority to send. */
export interface DocumentServer {
  readonly connection: UpstreamOptions;
  /** `Host` of the request, such as `tenant.example.com`. */
  readonly authority: string;
}

/** A document on a server. */
export interface DocumentAddress extends DocumentServer {
  /** Path and query. */
  readonly target: string;
}

/** Response of a document server. */
export interface FetchedDocument {
  readonly status: number;
  readonly headers: HeaderList;
  readonly text: string;
}

/** Returns the address of a URL, for a direct connection. HTTPS trusts these CAs (PEM), by default those of the operating system. */
export function addressOfUrl(
  url: string,
  caCertificates?: readonly string[],
): DocumentAddress {
  const { protocol, hostname, port, host, pathname, search } = new URL(url);
  const isSecure = protocol === "https:";
  const name = hostname.replace(/^\[(.*)\]$/, "$1");
  const tls = {
    hostname: name,
    subjectAltNames: [],
    caCertificates,
  };
  return {
    connection: {
      host: name,
      port: port === "" ? (isSecure ? 443 : 80) : Number(port),
      protocol: "auto",
      tls: isSecure ? tls : undefined,
    },
    authority: host,
    target: pathname + search,
  };
}

/** Formats a document's URL without secrets. */
export function describeAddress(
  { connection, authority, target }: DocumentAddress,
): string {
  const scheme = connection.tls === undefined ? "http" : "https";
  return redactUrl(`${scheme}://${authority}${target}`);
}

/** Options of `fetchDocument`. */
export interface FetchOptions {
  readonly clock: Clock;
  /** Decides which servers may be asked. */
  readonly egress: EgressPolicy;
  /** The host is an address of a name that may be connected to. */
  readonly isLookedUp?: true;
  /** Aborts the fetch. */
  readonly cancellation: Cancellation;
  /** Body to send with `POST`; without it, the request is a `GET`. */
  readonly body?: string;
  /** Of the body, `application/json` by default. */
  readonly contentType?: string;
  /** Media type of the response that the request accepts, `application/json` by default. */
  readonly accept?: string | undefined;
  /** `Authorization` of the request. */
  readonly authorization?: string | undefined;
  /** `DPoP` of the request. */
  readonly dpop?: string | undefined;
  /** 1 MiB by default. */
  readonly maxBytes?: number;
  /** 5 seconds by default. */
  readonly timeoutMs?: number;
}

/**
 * Fetches a document over a connection of its own, without following redirects, within 1 MiB and 5 seconds.
 * @throws {GatewayError} When the server is unreachable, or denied.
 * @throws {Error} When the response is too long, too late or compressed, or the fetch was cancelled.
 */
export function fetchDocument(
  address: DocumentAddress,
  { maxBytes = MAX_BYTES, ...options }: FetchOptions,
): Promise<FetchedDocument> {
  return withResponse(address, options, async ({ status, headers, body }) => {
    assertUncompressed(headers);
    return { status, headers, text: await readText(body, maxBytes) };
  });
}

/**
 * Returns what `read` makes of the response of a server, before the connection is closed and within the time limit; see `fetchDocument`.
 * @throws {GatewayError} When the server is unreachable, or denied.
 */
export async function withResponse<Result>(
  { connection, authority, target }: DocumentAddress,
  { clock, egress, cancellation: outer, timeoutMs = TIMEOUT_MS, ...options }:
    Omit<FetchOptions, "maxBytes">,
  read: (response: ResponseMessage) => Promise<Result>,
): Promise<Result> {
  const { body, isLookedUp } = options;
  if (!isLookedUp) egress.assertHost(connection);
  const upstream = createUpstream({ ...connection, egress }, clock);
  const own = new Cancellation();
  const unsubscribe = outer.onCancel((reason) => own.cancel(reason));
  const { cancellation, lift } = createDeadline(
    own,
    clock,
    timeoutMs,
    () => new Error(`no response within ${timeoutMs} ms`),
  );
  try {
    const response = await upstream.send(
      {
        method: body === undefined ? "GET" : "POST",
        authority,
        target,
        headers: headersFor(options),
        upgrade: undefined,
        expectsContinue: false,
        sendInformational: () => {},
      },
      body === undefined ? undefined : textBody(body),
      cancellation,
    );
    return await read(response);
  } finally {
    unsubscribe();
    lift();
    upstream.close();
  }
}

function headersFor(
  {
    body,
    contentType = "application/json",
    accept = "application/json",
    authorization,
    dpop,
  }: Pick<
    FetchOptions,
    "body" | "contentType" | "accept" | "authorization" | "dpop"
  >,
): HeaderList {
  const headers = HeaderList.from([
    ["accept", accept],
    ["accept-encoding", "identity"],
  ]);
  if (authorization !== undefined) {
    headers.append("authorization", authorization);
  }
  if (dpop !== undefined) headers.append("dpop", dpop);
  if (body !== undefined) headers.append("content-type", contentType);
  return headers;
}

/** @throws {Error} When a response has a content coding. */
export function assertUncompressed(headers: HeaderList): void {
  const coding = headers.getJoined("content-encoding") ?? "identity";
  if (coding.toLowerCase() === "identity") return;
  throw new Error(
    `Cannot read document: expected no content coding, got ${
      showValues([coding])
    }`,
  );
}

/** Reads a body as UTF-8. @throws {RangeError} When it is longer than `limit` bytes; cancels the rest. */
export async function readText(
  body: Body | undefined,
  limit: number,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  while (body !== undefined) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    length += chunk.length;
    if (length > limit) {
      const error = new RangeError(
        `Cannot read document: expected at most ${limit} bytes`,
      );
      body.cancel(error);
      throw error;
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
