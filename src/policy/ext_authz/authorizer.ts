import type { Cancellation } from "../../base/cancellation.ts";
import { frameMessage, unframeMessage } from "../../base/wire/grpc_frame.ts";
import { BytesBody } from "../../http/body.ts";
import type { Upstream } from "../../http/client/upstream.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { readBytes } from "../../http/read_bytes.ts";
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
const MAX_BYTES = 256 * 1024;

/** Asks an authorizer by gRPC. */
export function grpcAuthorizer(
  upstream: Pick<Upstream, "send">,
  authority: string,
): AskAuthorizer {
  return async (request, cancellation) => {
    const headers = HeaderList.from([
      ["content-type", "application/grpc"],
      ["te", "trailers"],
    ]);
    const response = await upstream.send(
      { ...plain, method: "POST", authority, target: METHOD, headers },
      new BytesBody(frameMessage(encodeCheck(request))),
      cancellation,
    );
    const { headers: head, body } = response;
    const bytes = await readBytes(body, MAX_BYTES);
    const trailers = body?.trailers ?? head;
    const status = trailers.get("grpc-status") ?? head.get("grpc-status");
    if (status !== "0") {
      throw new Error(
        status === undefined
          ? `no gRPC status, HTTP status ${response.status}`
          : `gRPC status ${status.slice(0, 3)}`,
      );
    }
    return decodeCheck(unframeMessage(bytes));
  };
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
    const bytes = await readBytes(response.body, MAX_BYTES);
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

const plain = {
  upgrade: undefined,
  expectsContinue: false,
  sendInformational() {},
};
