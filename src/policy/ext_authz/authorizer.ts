import type { Cancellation } from "../../base/cancellation.ts";
import { type Body, BytesBody } from "../../http/body.ts";
import type { Upstream } from "../../http/client/upstream.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  type AuthorizerVerdict,
  deniedStatus,
  expectName,
  expectValue,
} from "./authorizer_verdict.ts";
import {
  type CheckRequest,
  decodeCheck,
  encodeCheck,
} from "./check_messages.ts";

/** Asks an authorizer. @throws {Error} When it does not respond as it should. */
export type AskAuthorizer = (
  request: CheckRequest,
  cancellation: Cancellation,
) => Promise<AuthorizerVerdict>;

const METHOD = "/envoy.service.auth.v3.Authorization/Check";
/** Length of the flag and the length before a message. */
const PREFIX_BYTES = 5;
const MAX_BYTES = 256 * 1024;

/** Asks an authorizer by gRPC. */
export function grpcAuthorizer(
  upstream: Pick<Upstream, "send">,
  authority: string,
): AskAuthorizer {
  return async (request, cancellation) => {
    const message = encodeCheck(request);
    const frame = new Uint8Array(PREFIX_BYTES + message.length);
    new DataView(frame.buffer).setUint32(1, message.length);
    frame.set(message, PREFIX_BYTES);
    const headers = HeaderList.from([
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ]);
    const response = await upstream.send(
      { ...plain, method: "POST", authority, target: METHOD, headers },
      new BytesBody(frame),
      cancellation,
    );
    const { headers: head, body } = response;
    const bytes = await readBytes(response);
    const trailers = body?.trailers ?? head;
    const status = trailers.get("grpc-status") ?? head.get("grpc-status");
    if (status !== "0") {
      throw new Error(
        status === undefined
          ? `no gRPC status, HTTP status ${response.status}`
          : `gRPC status ${status.slice(0, 3)}`,
      );
    }
    return decodeCheck(unwrap(bytes));
  };
}

/** Returns the message after its prefix; never compressed, because no encoding was offered. */
function unwrap(frame: Uint8Array): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const length = frame.length - PREFIX_BYTES;
  if (length < 0 || frame[0] !== 0 || view.getUint32(1) !== length) {
    throw new Error("the response is not a single gRPC message");
  }
  return frame.subarray(PREFIX_BYTES);
}

/**
 * Asks an authorizer by HTTP.
 * @param path Prefix of the path.
 * @param copied Headers of a response that allows the request, for the backend; in lower case.
 */
export function httpAuthorizer(
  upstream: Pick<Upstream, "send">,
  path: string,
  copied: readonly string[],
): AskAuthorizer {
  return async (request, cancellation) => {
    const { method, host, body } = request;
    const hasBody = body !== undefined && body.length > 0;
    const headers = HeaderList.from(
      request.headers.filter(([name]) =>
        !isFraming(name) || hasBody && name === "content-encoding"
      ),
    );
    headers.set("accept-encoding", "identity");
    headers.set("x-forwarded-method", method);
    headers.set("x-forwarded-proto", request.scheme);
    headers.set("x-forwarded-host", host);
    headers.set("x-forwarded-uri", request.path);
    headers.set("x-forwarded-for", request.source.address);
    const response = await upstream.send(
      {
        ...plain,
        method,
        authority: host,
        target: path.replace(/\/$/, "") + request.path,
        headers,
      },
      hasBody ? new BytesBody(body) : undefined,
      cancellation,
    );
    const bytes = await readBytes(response);
    if (response.status >= 500) throw new Error(`status ${response.status}`);
    return response.status === 200
      ? readAllowed(response, copied)
      : readDenied(response, bytes);
  };
}

function readAllowed(
  { headers }: ResponseMessage,
  copied: readonly string[],
): AuthorizerVerdict {
  const changes = copied.flatMap((name) => {
    const value = headers.getJoined(name);
    return value === undefined
      ? []
      : [{ name: expectName(name), value, action: "set" as const }];
  });
  const responseHeaders = new HeaderList();
  const metadata = {};
  return { kind: "allowed", changes, removed: [], responseHeaders, metadata };
}

function readDenied(
  { status, headers }: ResponseMessage,
  body: Uint8Array,
): AuthorizerVerdict {
  const kept = new HeaderList();
  for (const [name, value] of headers) {
    if (isFraming(name)) continue;
    kept.append(expectName(name), expectValue(value));
  }
  return { kind: "denied", status: deniedStatus(status), headers: kept, body };
}

/** Fields that hold for the message they are on, and pseudo fields. */
function isFraming(name: string): boolean {
  return /^(?::.*|connection|content-length|content-encoding|date|expect|host|keep-alive|proxy-connection|server|te|trailer|transfer-encoding|upgrade|via)$/i
    .test(name);
}

async function readBytes(
  { body }: { readonly body: Body | undefined },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (body !== undefined) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    length += chunk.length;
    if (length > MAX_BYTES + PREFIX_BYTES) {
      const error = new RangeError(
        `the response of the authorizer exceeds ${MAX_BYTES} bytes`,
      );
      body.cancel(error);
      throw error;
    }
    chunks.push(chunk.slice());
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

const plain = {
  upgrade: undefined,
  expectsContinue: false,
  sendInformational() {},
};
