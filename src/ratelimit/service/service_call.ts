/**
 * A unary gRPC call over an HTTP/2 session (gRPC, "gRPC over HTTP2").
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

/** One call. */
export interface UnaryCall {
  /** The session in use, a new one where there is none; the time to connect counts. */
  readonly openSession: () => Promise<ClientHttp2Session>;
  readonly authority: string;
  /** Such as `/package.Service/Method`. */
  readonly path: string;
  readonly message: Uint8Array;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** No answer came in time. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";
}

/** The service did not look at the call, so that it may be sent again (RFC 9113 section 8.7). */
class CallNotProcessed extends Error {
  override readonly name = "CallNotProcessed";
}

/** Flag and length before a message. */
const PREFIX_BYTES = 5;
const MAX_ANSWER_BYTES = 256 * 1024;
const REFUSED_STREAM = 7;
const CANCEL = 8;

/** Sends a message and returns the message that answers it; rejects with `CallTimeout` or whatever went wrong. */
export function callUnary(call: UnaryCall): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream | undefined;
    let isLate = false;
    const cancelTimer = call.clock.setTimer(() => {
      isLate = true;
      stream?.close(CANCEL);
      reject(new CallTimeout(`no answer within ${call.timeoutMs} ms`));
    }, call.timeoutMs);

    async function send(): Promise<Uint8Array> {
      const session = await call.openSession();
      if (isLate) throw new Error("too late");
      stream = openStream(session, call);
      return await readAnswer(stream);
    }
    async function sendAgain(error: unknown): Promise<Uint8Array> {
      if (!(error instanceof CallNotProcessed)) throw error;
      return await send();
    }
    send().catch(sendAgain).then(resolve, reject).finally(cancelTimer);
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
  const frame = Buffer.alloc(PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  stream.end(frame);
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

function readAnswer(stream: ClientHttp2Stream): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (headers) => head = headers);
    stream.on("trailers", (headers) => trailers = headers);
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= PREFIX_BYTES + MAX_ANSWER_BYTES) return chunks.push(chunk);
      reject(new Error(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`));
      stream.close(CANCEL);
    });
    stream.on("error", (cause) => {
      reject(
        stream.rstCode === REFUSED_STREAM
          ? new CallNotProcessed("the service refused the call", { cause })
          : cause,
      );
    });
    stream.on("close", () => {
      try {
        checkStatus({ ...head, ...trailers });
        resolve(unwrap(Buffer.concat(chunks)));
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
    throw new Error(`gRPC status ${status}: ${decodePercents(message)}`);
  }
  const httpStatus = headers[":status"];
  throw new Error(
    httpStatus === undefined
      ? "the connection was lost"
      : `no gRPC status, HTTP status ${httpStatus}`,
  );
}

function decodePercents(text: IncomingHttpHeaders[string]): string {
  return String(text ?? "").replace(
    /%([\da-f]{2})/gi,
    (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The message after its prefix; never compressed, since no encoding was offered. */
function unwrap(frame: Buffer): Uint8Array {
  const length = frame.length - PREFIX_BYTES;
  if (length < 0 || frame[0] !== 0 || frame.readUInt32BE(1) !== length) {
    throw new Error("the answer is no single gRPC message");
  }
  return frame.subarray(PREFIX_BYTES);
}
