import type * as Http2 from "node:http2";
import process from "node:process";

/** Node's HTTP/2, loaded when the first connection speaks it: many never do, and it would take 6 ms of every start. */
export function nodeHttp2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}

/** Why a stream or a connection ends (RFC 9113 section 7). */
export const http2Errors = {
  noError: 0x0,
  protocolError: 0x1,
  refusedStream: 0x7,
  cancel: 0x8,
  enhanceYourCalm: 0xb,
} as const;
