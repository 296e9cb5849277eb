import { Cancellation } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import type { UpstreamRequest } from "../http/client/upstream.ts";
import type { Body } from "../http/body.ts";
import type { RequestMessage } from "../http/message.ts";
import type { Caller } from "../identity/backend_tokens/backend_credentials.ts";
import type { PolicyTrace } from "../policy/contract/policy_trace.ts";
import type { Backend } from "../snapshot/backend.ts";
import type { Mirror } from "../snapshot/snapshot.ts";
import type { LlmTarget } from "../llm/llm_target.ts";
import { mirrorBody } from "./body/mirrored_body.ts";
import { withinLimit } from "./request/time_limit.ts";
import type { AttemptTarget, Destination } from "./balancing/attempt_target.ts";
import {
  CredentialedTarget,
  type SentTokens,
} from "./credentials/credentialed_target.ts";
import {
  isMirroredToLlm,
  type LlmMirrorOptions,
  type MirroredAnswer,
  sendLlmCopy,
} from "./llm/llm_mirror.ts";
import type { Upstreams } from "./upstreams.ts";

/** Time-out of a mirrored request, including its response. */
const LIMIT_MS = 30_000;

/** Time-out of a request that is mirrored to an LLM. */
const LLM_LIMIT_MS = 300_000;

/** Limit of bytes read from a mirror's response, so that its connection can be reused. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Concurrent copies: each may buffer a body that its mirror is slow to read. */
const MAX_COPIES = 256;

/** Dependencies of the mirrors. */
export interface MirrorsOptions {
  readonly upstreams: Pick<Upstreams, "get">;
  /** Gets tokens for backends with credentials. */
  readonly tokens: SentTokens;
  readonly clock: Clock;
  /** Uniform in [0, 1); decides which requests are mirrored. */
  readonly random: () => number;
  /** Called when a copy fails; the client never notices. */
  readonly onFailure: (backend: Backend, error: unknown) => void;
  readonly llm: LlmMirrorOptions;
  /** Receives what an LLM provider made of a copy. @param route Name of the route. */
  readonly onAnswer: (route: string, answer: MirroredAnswer) => void;
}

/** Facts about a request. */
interface MirrorContext {
  readonly requestId: string;
  /** Name of the route. */
  readonly route: string;
  readonly caller?: Caller | undefined;
  readonly trace?: Pick<PolicyTrace, "report"> | undefined;
}

/** Sends copies of requests to other backends and drops the responses. A mirror never delays or fails the request itself. */
export class Mirrors {
  readonly #options: MirrorsOptions;
  #underWay = 0;

  constructor(options: MirrorsOptions) {
    this.#options = options;
  }

  /** Starts the copies. From then on the request's body feeds them as it is read. */
  send(
    request: RequestMessage,
    mirrors: readonly Mirror[],
    context: MirrorContext,
  ): void {
    for (const { backend, fraction } of mirrors) {
      if (this.#options.random() >= fraction) continue;
      if (backend.llm !== undefined && !isMirroredToLlm(request)) continue;
      const details = { backend: backend.key };
      context.trace?.report({
        type: "policyEvent",
        kind: "request_mirror",
        details,
      });
      this.#sendCopy(request, backend, context).catch((error: unknown) =>
        this.#options.onFailure(backend, error)
      );
    }
  }

  async #sendCopy(
    request: RequestMessage,
    backend: Backend,
    context: MirrorContext,
  ): Promise<void> {
    if (this.#underWay >= MAX_COPIES) {
      throw new RangeError(`More than ${MAX_COPIES} copies under way`);
    }
    this.#underWay++;
    try {
      const destination = this.#options.upstreams.get(backend);
      // The request continues at once, and takes its body along.
      const head = copyHead(request);
      const body = copyBody(request);
      const { llm } = backend;
      const limit = {
        clock: this.#options.clock,
        limitMs: llm === undefined ? LIMIT_MS : LLM_LIMIT_MS,
        code: "upstream_timeout",
        backend: backend.key,
      } as const;
      const choose = () =>
        this.#chooseTarget(destination, backend, context.caller);
      await withinLimit(
        new Cancellation(),
        limit,
        (cancellation) =>
          llm === undefined
            ? sendAndDrop(choose, head, body, cancellation)
            : this.#sendToLlm(
              { ...request, ...head, body, cancellation, held: undefined },
              { backend, llm, choose, context },
            ),
      );
    } finally {
      this.#underWay--;
    }
  }

  async #sendToLlm(
    request: RequestMessage,
    { backend, llm, choose, context: { route, requestId } }: {
      readonly backend: Backend;
      readonly llm: LlmTarget;
      readonly choose: ChooseTarget;
      readonly context: MirrorContext;
    },
  ): Promise<void> {
    const { body, cancellation } = request;
    const upstream = await unlessFailed(body, choose);
    const answer = await sendLlmCopy(
      { request, requestId, backend, llm, upstream, cancellation },
      this.#options.llm,
    );
    this.#options.onAnswer(route, answer);
  }

  async #chooseTarget(
    destination: Destination,
    { credentials, tls }: Backend,
    caller: Caller | undefined,
  ): Promise<Pick<AttemptTarget, "send">> {
    await destination.prepare();
    const target = destination.choose([], undefined, true);
    return credentials === undefined ? target : new CredentialedTarget(target, {
      credentials,
      caller,
      tokens: this.#options.tokens,
      held: undefined,
      maxReplayBytes: 0,
      maxSignedBytes: this.#options.llm.maxBufferBytes,
      scheme: tls === undefined ? "http" : "https",
      clock: this.#options.clock,
      trace: undefined,
    });
  }
}

function copyHead(request: RequestMessage): UpstreamRequest {
  const { method, authority, target, headers } = request;
  return {
    method,
    authority,
    target,
    headers: headers.copy(),
    upgrade: undefined,
    expectsContinue: false,
    sendInformational() {},
  };
}

function copyBody(request: RequestMessage): Body | undefined {
  if (request.body === undefined) return undefined;
  const { original, copy } = mirrorBody(request.body);
  request.body = original;
  return copy;
}

/** Chooses the endpoint of a copy. */
type ChooseTarget = () => Promise<Pick<AttemptTarget, "send">>;

/** Sends a copy and discards the response; a long one, such as an event stream, is cut. */
async function sendAndDrop(
  chooseTarget: ChooseTarget,
  head: UpstreamRequest,
  copy: Body | undefined,
  cancellation: Cancellation,
): Promise<void> {
  const { body } = await unlessFailed(copy, async () => {
    const target = await chooseTarget();
    return await target.send(head, copy, cancellation);
  });
  let bytes = 0;
  for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) return body?.cancel("long enough");
  }
}

/** Returns the result of a task that uses the body of a copy; cancels the body when the task fails. */
async function unlessFailed<Result>(
  copy: Body | undefined,
  task: () => Promise<Result>,
): Promise<Result> {
  try {
    return await task();
  } catch (error) {
    copy?.cancel(error);
    throw error;
  }
}
