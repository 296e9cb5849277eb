import { type Cancellation, unlessCancelled } from "../../base/cancellation.ts";
import type { Body } from "../../http/body.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import {
  type Challenge,
  parameterOf,
  parseChallenges,
} from "../../http/challenges.ts";
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
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import type { AttemptTarget } from "../balancing/attempt_target.ts";
import { authorize, type AuthorizeOptions } from "./authorize_request.ts";
import { redactError, secretsIn } from "./redacted_error.ts";
import { repeatable, type RepeatableBody } from "../body/replayable_body.ts";

/** Tokens of the gateway for its requests. */
export type SentTokens = Pick<
  BackendTokens,
  "get" | "replace" | "newer" | "insufficient"
>;

/** Dependencies of requests with credentials. */
export interface CredentialedTargetOptions extends AuthorizeOptions {
  /** The user that the request is for, if a policy knows it. */
  readonly caller: Caller | undefined;
  readonly tokens: SentTokens;
  /** Longer bodies are not kept: the client gets the 401 of the backend, and the next request another token. */
  readonly maxReplayBytes: number;
  /** Of the connection: proofs have the URL of the request. */
  readonly scheme: "http" | "https";
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
    { response: { status }, challenges }: Attempt,
    cancellation: Cancellation,
  ): Promise<BackendToken | undefined> {
    const { credentials, caller, tokens, trace } = this.#options;
    const needsProof = proofKey === undefined && wantsProof(challenges);
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
      const repeats = wantsNonce(first.challenges) &&
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
    const authorized = authorize({ ...head, url }, token, body, this.#options);
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
    const challenge = response.headers.getJoined("www-authenticate");
    response.headers.delete("www-authenticate");
    const nonce = response.headers.get("dpop-nonce");
    response.headers.delete("dpop-nonce");
    token.proofKey?.learn({ url, ...token }, nonce);
    return {
      response: response.status < 400
        ? response
        : await redactError(response, () => secretsIn(own)),
      challenges: challenge === undefined ? [] : parseChallenges(challenge),
    };
  }
}

/** A response, and the challenges that were in it. */
interface Attempt {
  readonly response: ResponseMessage;
  readonly challenges: readonly Challenge[];
}

/**
 * Returns the scopes that a backend asks for when it rejects a token; `undefined` if it does not. AWS has 403 for keys that have
 * expired, or been revoked.
 */
function demandOf(
  { response: { status }, challenges }: Attempt,
  { kind }: BackendCredentials,
): readonly string[] | undefined {
  const isInsufficient = kind === "oauth" &&
    parameterOf(challenges, "error") === "insufficient_scope";
  // Another token would lack the nonce as well.
  const rejects = status === 401 && !wantsNonce(challenges) ||
    status === 403 && (kind === "aws" || isInsufficient);
  if (!rejects) return undefined;
  const scope = parameterOf(challenges, "scope");
  return scope?.split(" ").filter((each) => each !== "") ?? [];
}

function eventOf(details: Readonly<Record<string, string | number>>) {
  return { type: "policyEvent", kind: "credentials", details } as const;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
