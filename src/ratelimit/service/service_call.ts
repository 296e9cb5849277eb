/**
 * Unary gRPC calls over an HTTP/2 session (gRPC, "gRPC over HTTP2").
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from "node:http2";
import type { Clock } from "../../base/clock.ts";
import {
  decodeStatusMessage,
  frameMessage,
  unframeMessage,
} from "../../base/wire/grpc_frame.ts";

/** Parameters of a call. */
export interface UnaryCall {
  /** Returns the session, connecting if there is none; the time to connect counts. */
  readonly openSession: () => Promise<ClientHttp2Session>;
  readonly authority: string;
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  readonly message: Uint8Array;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** No response arrived in time. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";
}

/** The service did not process the call, so it can be retried (RFC 9113 section 8.7). */
class CallNotProcessed extends Error {
  override readonly name = "CallNotProcessed";
}

const MAX_RESPONSE_BYTES = 256 * 1024;
const REFUSED_STREAM = 7;
const CANCEL = 8;

/** Sends a message and returns the response message. Rejects with `CallTimeout` or the error of the call. */
export function callUnary(call: UnaryCall): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    let isLate = false;
    const cancelTimer = call.clock.setTimer(() => {
      isLate = true;
      stream?.close(CANCEL);
      reject(new CallTimeout(`no response within ${call.timeoutMs} ms`));
    }, call.timeoutMs);

    async function send(): Promise<Uint8Array> {
      const session = await call.openSession();
      if (isLate) throw new Error("too late");
      stream = openStream(session, call);
      return await readResponse(stream);
    }
    async function retry(error: unknown): Promise<Uint8Array> {
      if (!(error instanceof CallNotProcessed)) throw error;
      return await send();
    }
    send().catch(retry).then(resolve, reject).finally(cancelTimer);
  });
}

function openStream(
  session: ClientHttp2Session,
  { authority, path, message, timeoutMs }: UnaryCall,
): ClientHttp2Stream {
  const stream = requestStream(session, {
    ":method": "POST",
    ":authority": authority,
    ":path": path,
    "content-type": "application/grpc",
    "grpc-timeout": `${timeoutMs}m`,
    te: "trailers",
  });
  stream.end(frameMessage(message));
  return stream;
}

function requestStream(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
): ClientHttp2Stream {
  try {
    return session.request(headers);
  } catch (cause) {
    throw new CallNotProcessed("the connection is ending", { cause });
  }
}

function readResponse(stream: ClientHttp2Stream): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (headers) => head = headers);
    stream.on("trailers", (headers) => trailers = headers);
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_RESPONSE_BYTES) return chunks.push(chunk);
      reject(new Error(`the response exceeds ${MAX_RESPONSE_BYTES} bytes`));
      stream.close(CANCEL);
    });
    stream.on("error", (cause) => {
      reject(
        stream.rstCode === REFUSED_STREAM
          ? new CallNotProcessed("the service rejected the call", { cause })
          : cause,
      );
    });
    stream.on("close", () => {
      try {
        checkStatus({ ...head, ...trailers });
        resolve(unframeMessage(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
  });
}

function checkStatus(headers: IncomingHttpHeaders): void {
  const { "grpc-status": status, "grpc-message": message } = headers;
  if (status === "0") return;
  if (status !== undefined) {
    const text = decodeStatusMessage(String(message ?? ""));
    throw new Error(`gRPC status ${status}: ${text}`);
  }
  const httpStatus = headers[":status"];
  throw new Error(
    httpStatus === undefined
      ? "the connection was lost"
      : `no gRPC status, HTTP status ${httpStatus}`,
  );
}
