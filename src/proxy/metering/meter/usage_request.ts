import { BytesBody } from "../../../http/body.ts";
import type { HeaderList } from "../../../http/header_list.ts";
import type { RequestMessage } from "../../../http/message.ts";
import {
  reportsUsageUnasked,
  withIncludeUsage,
} from "../../../llm/request/include_usage.ts";
import {
  readOutputBound,
  UNLIMITED_OUTPUT_TOKENS,
} from "../../../llm/request/output_bound.ts";
import type { RequestFacts } from "../../../llm/request/request_facts.ts";

/** The usage that a streamed response will have. */
export interface RequestedUsage {
  /** The client did not request the usage: it must not see it. */
  readonly isHidden: boolean;
  /** Output to charge if the stream reports no usage, because the provider could not be asked for it. */
  readonly outputBound: number;
}

/** The usage of a response whose request was not changed. */
export const asRequested: RequestedUsage = { isHidden: false, outputBound: 0 };

/**
 * Requests the usage of a streamed chat or completion of OpenAI, whose providers report it only then.
 * @param content Body of the request; `undefined` if it cannot be read.
 * @param host Host of the provider.
 */
export async function requestUsage(
  request: RequestMessage,
  content: Uint8Array | undefined,
  facts: RequestFacts,
  host: string | undefined,
): Promise<RequestedUsage> {
  const { headers } = request;
  if (content === undefined || facts.spans === undefined) {
    return { isHidden: false, outputBound: UNLIMITED_OUTPUT_TOKENS };
  }
  if (coversBody(headers)) {
    return { isHidden: false, outputBound: await readOutputBound(content) };
  }
  const changed = withIncludeUsage(content, facts);
  if (changed === undefined) return asRequested;
  request.body = new BytesBody(...changed);
  for (const name of bodyFields) headers.delete(name);
  if (reportsUsageUnasked(host)) return asRequested;
  // Usage in a compressed response could not be hidden from the client.
  headers.set("accept-encoding", "identity");
  return { isHidden: true, outputBound: 0 };
}

/** Returns whether a signature covers the body: of AWS, or of HTTP messages (RFC 9421) with a digest among its components. */
function coversBody(headers: HeaderList): boolean {
  return headers.getJoined("authorization")?.startsWith("AWS4-") === true ||
    ["signature", "signature-input"].some((name) =>
      headers.getJoined(name)?.toLowerCase().includes("digest")
    );
}

/** Fields about the bytes of the body, which no longer hold for a changed one. */
const bodyFields = [
  "content-encoding",
  "content-digest",
  "content-md5",
  "digest",
  "repr-digest",
];
