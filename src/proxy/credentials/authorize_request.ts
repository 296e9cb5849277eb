import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type { BackendCredentials } from "../../identity/backend_tokens/backend_credentials.ts";
import type { BackendToken } from "../../identity/backend_tokens/backend_tokens.ts";
import { awsSignature } from "../../llm/providers/aws_authorization.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";

/** A request, and its URL. */
interface SentHead
  extends Pick<UpstreamRequest, "method" | "authority" | "target" | "headers"> {
  readonly url: string;
}

/** Dependencies of `authorize`. */
export interface AuthorizeOptions {
  readonly credentials: BackendCredentials;
  /** Counts the memory of the body. */
  readonly held: HeldBytes | undefined;
  /** Signatures cover bodies; longer ones get 413. */
  readonly maxSignedBytes: number;
  /** For the time of signatures and proofs. */
  readonly clock: Pick<Clock, "now">;
}

/**
 * Adds a token, with a proof if it is bound to a key, or a signature to the header; returns the body, which a signature covers, without
 * a promise for a token alone.
 */
export function authorize(
  head: SentHead,
  { token, proofKey }: BackendToken,
  body: Body | undefined,
  options: AuthorizeOptions,
): Body | undefined | Promise<Body | undefined> {
  const { credentials, clock } = options;
  const { headers, method, url } = head;
  headers.delete("dpop");
  if (proofKey !== undefined) {
    const proven = { method, url, token, now: clock.now() };
    headers.set("authorization", `DPoP ${token}`);
    return proofKey.prove(proven).then((proof) => {
      headers.set("dpop", proof);
      return body;
    });
  }
  if (credentials.kind === "aws") {
    return sign(head, awsSignature(token, credentials), body, options);
  }
  headers.set("authorization", `Bearer ${token}`);
  return body;
}

async function sign(
  { url: _, ...head }: SentHead,
  signature: ReturnType<typeof awsSignature>,
  body: Body | undefined,
  { clock, held, maxSignedBytes }: AuthorizeOptions,
): Promise<Body | undefined> {
  const holder = { body, held };
  const bytes = await peekBody(holder, maxSignedBytes);
  if (bytes === undefined) {
    holder.body?.cancel("too long");
    throw new GatewayError(
      "body_too_large",
      "downstream",
      `Cannot sign the request: the body is longer than ${maxSignedBytes} bytes`,
    );
  }
  await signature?.apply(
    { ...head, scheme: "https", body: bytes },
    clock.now(),
  );
  return holder.body;
}
