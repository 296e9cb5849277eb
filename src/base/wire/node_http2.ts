import type * as Http2 from "node:http2";
import process from "node:process";

/** Loads Node's HTTP/2 on first use: many processes never need it, and it would add 6 ms to every start. */
export function nodeHttp2(): typeof Http2 {
  return process.getBuiltinModule("node:http2");
}
