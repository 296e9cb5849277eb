import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Body } from "../../http/body.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type { Attempts } from "../attempts.ts";
import type { AttemptTarget } from "../balancing/attempt_target.ts";
import { providerHeaders } from "./llm_headers.ts";

/** A request to an LLM provider. */
export interface LlmCall {
  readonly target: LlmTarget;
  readonly upstream: AttemptTarget;
  readonly request: UpstreamRequest;
  readonly body: Body | undefined;
  readonly cancellation: Cancellation;
  readonly attempts: Attempts;
  readonly clock: Clock;
  /** Limit of bytes in memory, where a body has to be read. */
  readonly maxBufferBytes: number;
}

/** Sends a request with the provider's host, header fields and key. */
export async function sendAuthorized(
  { target, upstream, request, cancellation, clock }: LlmCall,
  { method, target: path }: Pick<UpstreamRequest, "method" | "target">,
  body: Body | undefined,
  bytes: Uint8Array = new Uint8Array(),
): Promise<ResponseMessage> {
  const { authority, authorization, provider, scheme } = target;
  const headers = providerHeaders(request.headers, provider.headers);
  await authorization?.apply(
    { method, scheme, authority, target: path, headers, body: bytes },
    clock.now(),
  );
  const own: UpstreamRequest = {
    method,
    target: path,
    authority,
    headers,
    upgrade: undefined,
    // Providers read every body, and reading it tells the client to send it.
    expectsContinue: false,
    sendInformational: (status, fields) =>
      request.sendInformational(status, fields),
  };
  return await upstream.send(own, body, cancellation);
}
