import type * as Http2 from "node:http2";
import process from "node:process";

/** Loads Node's HTTP/2 on first use: many processes never need it, and it would add 6 ms to every start. */
export function nodeHttp2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}

/** Error codes of streams and connections (RFC 9113 section 7). */
export const http2Errors = {
  noError: 0x0,
  protocolError: 0x1,
  refusedStream: 0x7,
  cancel: 0x8,
  enhanceYourCalm: 0xb,
} as const;
