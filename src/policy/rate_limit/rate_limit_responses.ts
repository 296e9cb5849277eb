import { BytesBody, textBody } from "../../http/body.ts";
import { HeaderList } from "../../http/header_list.ts";
import type { ResponseMessage } from "../../http/message.ts";

/** The answer to a request that a limit refuses. @param body In place of the usual text. */
export function tooManyRequests(body?: Uint8Array): ResponseMessage {
  return {
    status: 429,
    headers: new HeaderList(["content-type", "text/plain"]),
    body: body === undefined || body.length === 0
      ? textBody("rate limit exceeded")
      : new BytesBody(body),
  };
}

/** Responds to a request whose limits could not be decided. */
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
