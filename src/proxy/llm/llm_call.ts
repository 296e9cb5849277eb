import { LlmApiError } from "../../base/errors.ts";
import type { Cancellation } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type { ResponseMessage } from "../../http/message.ts";
import type { LlmTarget } from "../../llm/llm_target.ts";
import type { ClientResponses } from "../../llm/responses/client_responses.ts";
import type { LlmFamily } from "../../llm/providers/operation.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { Attempts } from "../request/attempts.ts";
import type {
  AttemptTarget,
  Destination,
} from "../balancing/attempt_target.ts";
import { parseJson } from "../../base/json.ts";
import { isFilterError } from "../../llm/withheld_answer.ts";
import { readRequestContent } from "../../llm/request/request_content.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import { redactError, secretsIn } from "../credentials/redacted_error.ts";
import type { RemoteMedia } from "./remote_media.ts";
import { filterBetas, providerHeaders } from "./llm_headers.ts";

/** A request to an LLM provider. */
export interface LlmCall {
  readonly target: LlmTarget;
  readonly upstream: Pick<AttemptTarget, "send">;
  readonly request: UpstreamRequest;
  readonly body: Body | undefined;
  /** Counts the memory of the body until the response arrives. */
  readonly held: HeldBytes | undefined;
  readonly cancellation: Cancellation;
  readonly attempts: Attempts;
  readonly requestId: string;
  readonly trace: Pick<PolicyTrace, "report"> | undefined;
  readonly clock: Clock;
  /** Limit of bytes in memory, where a body has to be read. */
  readonly maxBufferBytes: number;
  /** Called with the whole body when it was read: it is gone from `body` then. */
  onRead(bytes: Uint8Array): void;
  /** Fetches images and files at URLs. */
  readonly media: Pick<RemoteMedia, "fetch">;
  /** Earlier responses of the client. */
  readonly responses: ClientResponses;
  /** Returns the backends that a list of models is made of. */
  models(): readonly ModelSource[];
}

/** An LLM backend whose models a client may use. */
export interface ModelSource {
  readonly target: LlmTarget;
  readonly destination: Destination;
  /** Returns whether requests for a model get to this backend. */
  serves(model: string): boolean;
}

const nothing: Uint8Array = new Uint8Array();

/** Sends a request with the provider's host, header fields and key. */
export function sendAuthorized(
  { target, upstream, request, cancellation, clock, trace, attempts }: LlmCall,
  { method, target: path, upgrade, isOwn = false }: {
    readonly method: string;
    readonly target: string;
    readonly upgrade?: string | undefined;
    /** The gateway reads the response, and has written the body, if there is one. */
    readonly isOwn?: boolean;
  },
  body: Body | undefined,
  bytes = nothing,
): Promise<ResponseMessage> {
  const { authority, authorization, provider, scheme } = target;
  const headers = providerHeaders(request.headers, provider.headers);
  if (provider.betas !== undefined && filterBetas(headers, provider.betas)) {
    attempts.dropped = [...attempts.dropped, "anthropic-beta"];
  }
  if (isOwn) {
    headers.set("accept-encoding", "identity");
    if (body !== undefined) headers.set("content-type", "application/json");
  }
  trace?.report({
    type: "policyEvent",
    kind: "llm",
    details: {
      provider: target.name,
      method,
      path: path.split("?", 1)[0] ?? "",
    },
  });
  const applied = authorization?.apply(
    { method, scheme, authority, target: path, headers, body: bytes },
    clock.now(),
  );
  const own: UpstreamRequest = {
    method,
    target: path,
    authority,
    headers,
    upgrade,
    // Providers read every body, and reading it tells the client to send it.
    expectsContinue: false,
    sendInformational: (status, fields) =>
      request.sendInformational(status, fields),
  };
  const send = async () =>
    await redactError(
      await upstream.send(own, body, cancellation),
      () => secretsIn(headers),
    );
  return applied === undefined ? send() : applied.then(send);
}

/** Longer errors are not read. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Reads the text of an error, which stays in the response. */
async function peekError(response: ResponseMessage): Promise<string> {
  const coding = response.headers.getJoined("content-encoding") ?? "";
  const bytes = await peekBody(response, MAX_ERROR_BYTES);
  if (bytes === undefined) return "";
  const { bytes: content } = await readRequestContent(
    bytes,
    coding,
    MAX_ERROR_BYTES,
  );
  return new TextDecoder().decode(content);
}

/** Words of providers for a request that is longer than the context of its model; 2026-11. */
const tooLong =
  /context_length_exceeded|context (?:length|window|limit)|(?:prompt|input) is too long|input token count[^"]{0,40} exceeds/i;

/** Names the fields that the provider did not get. */
const DROPPED = "x-gateway-dropped";

/** Fields of responses that name the account of the gateway, or track it. */
const accountFields = [
  "openai-organization",
  "openai-project",
  "anthropic-organization-id",
  "set-cookie",
];

/**
 * Records the provider's id of the request, whose limit it exceeded, and whether it is too long for its model or its content filter rejects it.
 * @throws {LlmApiError} `llm_key_rejected`: that is no matter of the client, whose own key the gateway has accepted.
 */
export async function checkResponse(
  { attempts, target }: LlmCall,
  form: LlmFamily,
  response: ResponseMessage,
): Promise<ResponseMessage> {
  const { name, provider } = target;
  const id = response.headers.get(provider.requestIdHeader);
  if (id !== undefined) attempts.providerRequestId = id;
  for (const field of accountFields) response.headers.delete(field);
  const { dropped } = attempts;
  if (dropped.length > 0) response.headers.set(DROPPED, dropped.join(", "));
  const { status } = response;
  attempts.limitedBy = status === 429 ? name : undefined;
  if (status === 429) response.headers.set("x-gateway-limited-by", name);
  const error = status === 400 || status === 413
    ? await peekError(response)
    : "";
  attempts.isTooLong = tooLong.test(error);
  attempts.lacksModel = status === 404;
  attempts.isFiltered = isFilterError(error);
  const isRejected = status === 401 || status === 403 ||
    status === 400 && provider.rejectsKey?.(parseJson(error)) === true;
  if (!isRejected) return response;
  response.body?.cancel("key rejected");
  throw new LlmApiError(
    "llm_key_rejected",
    "upstream",
    `${name} returned ${status}: it rejects the credentials of the gateway, or what they are used for`,
    form,
    "The LLM provider rejected the credentials of the gateway. This is no problem of your own key; contact the operator of the gateway.",
  );
}
