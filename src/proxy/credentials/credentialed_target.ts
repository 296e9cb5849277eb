import { type Cancellation, unlessCancelled } from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { GatewayError } from "../../base/errors.ts";
import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import type { ResponseMessage } from "../../http/message.ts";
import {
  type BackendCredentials,
  type Caller,
  isCloudIdentity,
} from "../../identity/backend_tokens/backend_credentials.ts";
import type {
  BackendToken,
  BackendTokens,
} from "../../identity/backend_tokens/backend_tokens.ts";
import { awsSignature } from "../../llm/providers/aws_authorization.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { AttemptTarget } from "../balancing/attempt_target.ts";
import { redactError, secretsIn } from "./redacted_error.ts";
import { ReplayableBody } from "../body/replayable_body.ts";

/** Dependencies of requests with credentials. */
export interface CredentialedTargetOptions {
  readonly credentials: BackendCredentials;
  /** The user that the request is for, if a policy knows it. */
  readonly caller: Caller | undefined;
  readonly tokens: Pick<BackendTokens, "get" | "replace">;
  /** Counts the memory of the body until the response arrives. */
  readonly held: HeldBytes | undefined;
  /** Longer bodies are not kept: the client gets the 401 of the backend, and the next request another token. */
  readonly maxReplayBytes: number;
  /** Signatures cover bodies; longer ones get 413. */
  readonly maxSignedBytes: number;
  /** For the time of signatures. */
  readonly clock: Pick<Clock, "now">;
  readonly trace: Pick<PolicyTrace, "report"> | undefined;
}

/**
 * An endpoint whose requests get the gateway's credentials in place of the client's: a token, or a signature. Requests that the
 * backend rejects for their token are sent once more, with another one. Challenges of the backend are for the gateway, not for the client.
 */
export class CredentialedTarget implements Pick<AttemptTarget, "send"> {
  readonly #target: Pick<AttemptTarget, "send">;
  readonly #options: CredentialedTargetOptions;

  constructor(
    target: Pick<AttemptTarget, "send">,
    options: CredentialedTargetOptions,
  ) {
    this.#target = target;
    this.#options = options;
  }

  /** @throws {GatewayError} Those of the endpoint, and of `BackendTokens`. */
  async send(
    request: UpstreamRequest,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const { credentials, held, maxReplayBytes } = this.#options;
    const { token } = await this.#obtain(cancellation);
    if (credentials.kind === "key") {
      return await this.#attempt(request, token, body, cancellation);
    }
    const replay = body && new ReplayableBody(body, maxReplayBytes, held);
    const attempt = (token: string) =>
      this.#attempt(request, token, replay?.nextAttempt(), cancellation);
    try {
      const response = await attempt(token);
      if (!rejectsToken(response, credentials)) return response;
      const other = await this.#replace(token, response.status, cancellation);
      if (other === undefined || replay?.replayable === false) return response;
      replay?.endAttempt();
      response.body?.cancel("token rejected");
      return await attempt(other.token);
    } finally {
      replay?.settle();
    }
  }

  /** Without another token, the client gets the response to the first one. */
  async #replace(
    rejected: string,
    status: number,
    cancellation: Cancellation,
  ): Promise<BackendToken | undefined> {
    const { credentials, caller, tokens, trace } = this.#options;
    try {
      const other = await unlessCancelled(
        tokens.replace(credentials, caller, rejected),
        cancellation,
      );
      this.#report(other?.origin ?? "none", { rejected: status });
      return other;
    } catch (error) {
      if (cancellation.cancelled) throw error;
      trace?.report(
        eventOf({ type: credentials.kind, error: messageOf(error) }),
      );
      return undefined;
    }
  }

  async #obtain(cancellation: Cancellation): Promise<BackendToken> {
    const { credentials, caller, tokens, trace } = this.#options;
    try {
      const token = await unlessCancelled(
        tokens.get(credentials, caller),
        cancellation,
      );
      this.#report(token.origin);
      return token;
    } catch (error) {
      trace?.report(
        eventOf({ type: credentials.kind, error: messageOf(error) }),
      );
      throw error;
    }
  }

  #report(from: string, more: Readonly<Record<string, number>> = {}): void {
    const { credentials, trace } = this.#options;
    if (trace === undefined) return;
    const server = credentials.kind === "key"
      ? {}
      : isCloudIdentity(credentials)
      ? { backend: credentials.backend }
      : {
        backend: credentials.backend,
        server: credentials.server.url,
        client: credentials.clientId,
      };
    trace.report(eventOf({ type: credentials.kind, ...server, from, ...more }));
  }

  async #attempt(
    { method, authority, target, headers, upgrade, expectsContinue, ...more }:
      UpstreamRequest,
    token: string,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<ResponseMessage> {
    const own = headers.copy();
    const head = { method, authority, target, headers: own };
    const sent = await this.#authorize(head, token, body);
    const { owners } = more;
    const response = await this.#target.send(
      {
        ...head,
        upgrade,
        expectsContinue,
        sendInformational: (status, fields) =>
          more.sendInformational(status, fields),
        ...(owners !== undefined && { owners }),
      },
      sent,
      cancellation,
    );
    // A client would follow it, and log in at the authorization server of the backend.
    response.headers.delete("www-authenticate");
    return await redactError(response, () => secretsIn(own));
  }

  /** Adds a token or a signature to the header; returns the body, which a signature covers. */
  async #authorize(
    head: Pick<UpstreamRequest, "method" | "authority" | "target" | "headers">,
    token: string,
    body: Body | undefined,
  ): Promise<Body | undefined> {
    const { credentials, clock, held, maxSignedBytes } = this.#options;
    if (credentials.kind !== "aws") {
      head.headers.set("authorization", `Bearer ${token}`);
      return body;
    }
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
    const signature = awsSignature(token, credentials);
    await signature?.apply(
      { ...head, scheme: "https", body: bytes },
      clock.now(),
    );
    return holder.body;
  }
}

/** AWS has 403 for keys that have expired, or been revoked. */
function rejectsToken(
  { status }: ResponseMessage,
  { kind }: BackendCredentials,
): boolean {
  return status === 401 || kind === "aws" && status === 403;
}

function eventOf(details: Readonly<Record<string, string | number>>) {
  return { type: "policyEvent", kind: "credentials", details } as const;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
