import type { Body } from "../../body.ts";
import type { HeaderEncoder } from "../../http2/hpack/header_encoder.ts";
import type { UpstreamRequest } from "../upstream.ts";

/** Encodes a request's header block, and corrects the fields about its body. */
export function encodeRequest(
  encoder: HeaderEncoder,
  request: UpstreamRequest,
  body: Body | undefined,
  scheme: "http" | "https",
): void {
  encoder.pseudo(":method", request.method);
  encoder.pseudo(":scheme", scheme);
  encoder.pseudo(":authority", request.authority);
  encoder.pseudo(":path", request.target);
  request.headers.forEach((name, value) => {
    if (!isOurs(name)) encoder.field(name, value);
  });
  if (body?.length !== undefined) {
    encoder.field("content-length", String(body.length));
  }
  if (request.expectsContinue) encoder.field("expect", "100-continue");
  // The gateway forwards trailers, and gRPC servers require this field.
  encoder.field("te", "trailers");
}

/** Returns whether `encodeRequest` writes the field itself. Compares lengths first, since it runs for each field. */
function isOurs(name: string): boolean {
  switch (name.length) {
    case 2:
      return name.toLowerCase() === "te";
    case 4:
      return name.toLowerCase() === "host";
    case 6:
      return name.toLowerCase() === "expect";
    case 14:
      return name.toLowerCase() === "content-length";
    default:
      return false;
  }
}
