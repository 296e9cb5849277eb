import { Buffer } from "node:buffer";
import { latin1 } from "../../base/bytes.ts";
import type { HeaderList } from "../../http/header_list.ts";
import { BytesBody } from "../../http/body.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { readRequestContent } from "../../llm/request/request_content.ts";
import { removeContentHeaders } from "../../policy/expressions/message_body.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import { RedactedBody, redactSecrets } from "../body/redacted_body.ts";

/** Fields with which backends get the gateway's own credentials. */
const credentialFields = [
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "x-amz-security-token",
];
/** Shorter texts are no secrets, and occur by chance. */
const MIN_SECRET_LENGTH = 8;
/** Longer compressed errors are not passed on. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Returns the secrets in the credentials of a request, without their schemes. */
export function secretsIn(headers: HeaderList): readonly string[] {
  return credentialFields.flatMap((name) => {
    const secret = headers.get(name)?.split(" ").at(-1) ?? "";
    return secret.length < MIN_SECRET_LENGTH ? [] : [secret];
  });
}

/**
 * Replaces the gateway's own credentials in the error of a backend, which may quote them; other responses stay as they are.
 * @param secrets Called for errors.
 */
export async function redactError(
  response: ResponseMessage,
  secrets: () => readonly string[],
): Promise<ResponseMessage> {
  const { headers, body, status } = response;
  if (status < 400) return response;
  const hidden = secrets();
  if (hidden.length === 0) return response;
  for (const [name, value] of [...headers]) {
    const shown = redactSecrets(value, hidden);
    if (shown !== value) headers.set(name, shown);
  }
  if (body === undefined) return response;
  const coding = headers.getJoined("content-encoding") ?? "identity";
  if (coding === "identity") {
    response.body = new RedactedBody(body, hidden);
    return response;
  }
  const read = await peekBody(response, MAX_ERROR_BYTES);
  const { bytes } = read === undefined
    ? { bytes: undefined }
    : await readRequestContent(read, coding, MAX_ERROR_BYTES);
  // A body that cannot be searched may have the secret.
  const text = bytes === undefined ? "" : latin1(bytes);
  const shown = redactSecrets(text, hidden);
  if (bytes !== undefined && shown === text) return response;
  response.body?.cancel("redacted");
  removeContentHeaders(headers);
  response.body = new BytesBody(Buffer.from(shown, "latin1"));
  return response;
}
