import { BytesBody, textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** Responds with 429 to a request over a limit. @param body Replaces the default text. */
export function tooManyRequests(body?: Uint8Array): ResponseMessage {
  return {
    status: 429,
    headers: new HeaderList(["content-type", "text/plain"]),
    body: body === undefined || body.length === 0
      ? textBody("rate limit exceeded")
      : new BytesBody(body),
  };
}

/** Responds with 503 to a request whose limits could not be evaluated. */
export function limitUnknown(): ResponseMessage {
  return {
    status: 503,
    headers: new HeaderList([
      ...["content-type", "text/plain"],
      ...["retry-after", "1"],
    ]),
    body: textBody("rate limit failed"),
  };
}
