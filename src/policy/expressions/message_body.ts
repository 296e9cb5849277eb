import { type Body, BytesBody } from "../../http/body.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { peekBody } from "./peeked_body.ts";
import { contentProblem } from "./readable_content.ts";

/** Content of a request or response. */
interface Message {
  readonly headers: HeaderList;
  body: Body | undefined;
}

/** The reason why an expression cannot read a body. */
export class UnreadableBody {
  constructor(
    /** Such as `the body is compressed`; never has content of the body. */
    readonly message: string,
    readonly isTooLong: boolean,
  ) {}
}

/** Text of a body, empty when there is none, or the reason why it is unreadable. */
export type BodyText = string | UnreadableBody;

/**
 * Reads a whole body as UTF-8, and leaves it in the message. Compressed bodies and endless streams are not read.
 * @param maxBytes Limit of the bytes in memory, besides one chunk.
 */
export async function readBodyText(
  message: Message,
  maxBytes: number,
): Promise<BodyText> {
  const { headers } = message;
  const problem = contentProblem(headers);
  if (problem !== undefined) return new UnreadableBody(problem, false);
  if (endless.test(headers.getJoined("content-type") ?? "")) return stream;
  const bytes = await peekBody(message, maxBytes);
  if (bytes === undefined) {
    const length = `the body is longer than ${maxBytes} bytes`;
    return new UnreadableBody(length, true);
  }
  try {
    return decoder.decode(bytes);
  } catch {
    return noText;
  }
}

/** Replaces the content of a message, and removes headers about the old content. The caller ensures that nothing reads that. */
export function replaceBody(message: Message, bytes: Uint8Array): void {
  const { headers } = message;
  removeContentHeaders(headers);
  headers.set("content-length", String(bytes.length));
  message.body = new BytesBody(bytes);
}

/** Removes headers about content that the message will not have. */
export function removeContentHeaders(headers: HeaderList): void {
  headers.deleteWhere((name) => describesContent.test(name));
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Content types of streams, which may never end. */
const endless = /^(?:text\/event-stream|application\/grpc)/i;

const stream = new UnreadableBody("the body is a stream", false);
const noText = new UnreadableBody("the body is not UTF-8", false);

/** Headers that hold only for the exact bytes (RFC 9110 section 8, RFC 9530). */
const describesContent =
  /^(?:content-(?:length|encoding|range|md5|digest)|repr-digest|digest|etag|trailer)$/i;
