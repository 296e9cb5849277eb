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
import {
  wantsNonce,
  wantsProof,
} from "../../identity/backend_tokens/proof_key.ts";
import { awsSignature } from "../../llm/providers/aws_authorization.ts";
import { peekBody } from "../../policy/expressions/peeked_body.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { AttemptTarget } from "../balancing/attempt_target.ts";
import { redactError, secretsIn } from "./redacted_error.ts";
import { repeatable, type RepeatableBody } from "../body/replayable_body.ts";

/** Tokens of the gateway for its requests. */
export type SentTokens = Pick<
  BackendTokens,
  "get" | "replace" | "newer" | "insufficient"
>;

/** Dependencies of requests with credentials. */
export interface CredentialedTargetOptions {
  readonly credentials: BackendCredentials;
  /** The user that the request is for, if a policy knows it. */
  readonly caller: Caller | undefined;
  readonly tokens: SentTokens;
  /** Counts the memory of the body until the response arrives. */
  readonly held: HeldBytes | undefined;
  /** Longer bodies are not kept: the client gets the 401 of the backend, and the next request another token. */
  readonly maxReplayBytes: number;
  /** Signatures cover bodies; longer ones get 413. */
  readonly maxSignedBytes: number;
  /** Of the connection: proofs have the URL of the request. */
  readonly scheme: "http" | "https";
  /** For the time of signatures and proofs. */
  readonly clock: Pick<Clock, "now">;
  readonly trace: Pick<PolicyTrace, "report"> | undefined;
}

/**
 * An endpoint whose requests get the gateway's credentials in place of the client's: a token, with a proof if it is bound to a key, or a
 * signature. Requests that the backend rejects for their token, or for the nonce of their proof, are sent once more. Challenges of the
 * backend are for the gateway, not for the client.
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
    const obtained = this.#obtain(cancellation);
    const token = obtained instanceof Promise ? await obtained : obtained;
    if (credentials.kind === "key") {
      const { response } = await this.#attempt(
        request,
        token,
        body,
        cancellation,
      );
      return response;
    }
    const replay = body && repeatable(body, maxReplayBytes, held);
    const attempt = (sent: BackendToken) =>
      this.#attemptProven(request, sent, replay, cancellation);
    try {
      const first = await attempt(token);
      const demand = demandOf(first, credentials);
      const { response } = first;
      if (demand === undefined) return response;
      const other = await this.#replace(token, first, cancellation);
      if (other === undefined || replay?.replayable === false) {
        return await this.#answer(response, demand);
      }
      replay?.endAttempt();
      response.body?.cancel("token rejected");
      const second = await attempt(other);
      return await this.#answer(second.response, demandOf(second, credentials));
    } finally {
      replay?.settle();
    }
  }

  /** Asks the user to log in where that can help; anybody else gets the response. @param scopes Those that the backend asks for. */
  async #answer(
    response: ResponseMessage,
    scopes: readonly string[] | undefined,
  ): Promise<ResponseMessage> {
    const { credentials, caller, tokens, trace } = this.#options;
    if (credentials.kind !== "oauth" || scopes === undefined) return response;
    response.body?.cancel("token rejected");
    const error = await tokens.insufficient(credentials, caller, scopes);
    trace?.report(eventOf({ type: credentials.kind, error: error.message }));
    throw error;
  }

  /** Without another token, the client gets the response to the first one. */
  async #replace(
    { token: rejected, proofKey }: BackendToken,
    { response: { status }, challenge }: Attempt,
    cancellation: Cancellation,
  ): Promise<BackendToken | undefined> {
    const { credentials, caller, tokens, trace } = this.#options;
    const needsProof = proofKey === undefined && wantsProof(challenge);
    try {
      const other = await unlessCancelled(
        credentials.kind === "oauth" && status === 403
          ? tokens.newer(credentials, caller, rejected)
          : tokens.replace(credentials, caller, rejected, needsProof),
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

  #obtain(cancellation: Cancellation): BackendToken | Promise<BackendToken> {
    const { credentials, caller, tokens, trace } = this.#options;
    const obtained = tokens.get(credentials, caller);
    if (!(obtained instanceof Promise)) {
      this.#report(obtained.origin);
      return obtained;
    }
    return unlessCancelled(obtained, cancellation).then((token) => {
      this.#report(token.origin);
      return token;
    }, (error) => {
      trace?.report(
        eventOf({ type: credentials.kind, error: messageOf(error) }),
      );
      throw error;
    });
  }

  /** Sends a request once more if its server wants another nonce in the proof. */
  #attemptProven(
    request: UpstreamRequest,
    token: BackendToken,
    replay: RepeatableBody | undefined,
    cancellation: Cancellation,
  ): Promise<Attempt> {
    const once = () =>
      this.#attempt(request, token, replay?.nextAttempt(), cancellation);
    if (token.proofKey === undefined) return once();
    return once().then((first) => {
      const repeats = wantsNonce(first.challenge) &&
        replay?.replayable !== false;
      if (!repeats) return first;
      replay?.endAttempt();
      first.response.body?.cancel("nonce required");
      return once();
    });
  }

  #report(from: string, more: Readonly<Record<string, number>> = {}): void {
    const { credentials, trace } = this.#options;
    if (trace === undefined) return;
    const server = credentials.kind === "key"
      ? {}
      : credentials.kind === "oauth" || isCloudIdentity(credentials)
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
    token: BackendToken,
    body: Body | undefined,
    cancellation: Cancellation,
  ): Promise<Attempt> {
    const own = headers.copy();
    const head = { method, authority, target, headers: own };
    const url = `${this.#options.scheme}://${authority}${target}`;
    const authorized = this.#authorize({ ...head, url }, token, body);
    const sent = authorized instanceof Promise ? await authorized : authorized;
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
    const challenge = response.headers.getJoined("www-authenticate") ?? "";
    response.headers.delete("www-authenticate");
    const nonce = response.headers.get("dpop-nonce");
    response.headers.delete("dpop-nonce");
    token.proofKey?.learn({ url, ...token }, nonce);
    return {
      response: response.status < 400
        ? response
        : await redactError(response, () => secretsIn(own)),
      challenge,
    };
  }

  /** Adds a token or a signature to the header; returns the body, which a signature covers. */
  #authorize(
    head: SentHead,
    { token, proofKey }: BackendToken,
    body: Body | undefined,
  ): Body | undefined | Promise<Body | undefined> {
    const { credentials, clock } = this.#options;
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
      return this.#sign(head, awsSignature(token, credentials), body);
    }
    headers.set("authorization", `Bearer ${token}`);
    return body;
  }

  async #sign(
    { url: _, ...head }: SentHead,
    signature: ReturnType<typeof awsSignature>,
    body: Body | undefined,
  ): Promise<Body | undefined> {
    const { clock, held, maxSignedBytes } = this.#options;
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
}

/** A request, and its URL. */
interface SentHead
  extends Pick<UpstreamRequest, "method" | "authority" | "target" | "headers"> {
  readonly url: string;
}

/** A response, and the challenge that was in it; empty without one. */
interface Attempt {
  readonly response: ResponseMessage;
  readonly challenge: string;
}

/**
 * Returns the scopes that a backend asks for when it rejects a token; `undefined` if it does not. AWS has 403 for keys that have
 * expired, or been revoked.
 */
function demandOf(
  { response: { status }, challenge }: Attempt,
  { kind }: BackendCredentials,
): readonly string[] | undefined {
  const isInsufficient = kind === "oauth" &&
    /\berror="?insufficient_scope\b/i.test(challenge);
  // Another token would lack the nonce as well.
  const rejects = status === 401 && !wantsNonce(challenge) ||
    status === 403 && (kind === "aws" || isInsufficient);
  if (!rejects) return undefined;
  const scope = /\bscope="([^"\\]{1,4096})"/i.exec(challenge)?.[1];
  return scope?.split(" ").filter((each) => each !== "") ?? [];
}

function eventOf(details: Readonly<Record<string, string | number>>) {
  return { type: "policyEvent", kind: "credentials", details } as const;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
