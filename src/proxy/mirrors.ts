import { Cancellation } from "../base/cancellation.ts";
import type { Clock } from "../base/clock.ts";
import type { UpstreamRequest } from "../http/client/upstream.ts";
import type { Body } from "../http/body.ts";
import type { RequestMessage } from "../http/message.ts";
import type { PolicyTrace } from "../policy/contract/policy_trace.ts";
import type { Backend, Mirror } from "../snapshot/snapshot.ts";
import { mirrorBody } from "./body/mirrored_body.ts";
import { withinLimit } from "./request/time_limit.ts";
import type { AttemptTarget, Destination } from "./balancing/attempt_target.ts";
import type { Upstreams } from "./upstreams.ts";

/** Time-out of a mirrored request, including its response. */
const LIMIT_MS = 30_000;

/** Limit of bytes read from a mirror's response, so that its connection can be reused. */
const MAX_RESPONSE_BYTES = 1024 * 1024;

/** Concurrent copies: each may buffer a body that its mirror is slow to read. */
const MAX_COPIES = 256;

/** Dependencies of the mirrors. */
export interface MirrorsOptions {
  readonly upstreams: Pick<Upstreams, "get">;
  readonly clock: Clock;
  /** Uniform in [0, 1); decides which requests are mirrored. */
  readonly random: () => number;
  /** Called when a copy fails; the client never notices. */
  readonly onFailure: (backend: Backend, error: unknown) => void;
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
    trace?: Pick<PolicyTrace, "report">,
  ): void {
    for (const { backend, fraction } of mirrors) {
      if (this.#options.random() >= fraction) continue;
      const details = { backend: backend.key };
      trace?.report({ type: "policyEvent", kind: "request_mirror", details });
      this.#sendCopy(request, backend).catch((error: unknown) =>
        this.#options.onFailure(backend, error)
      );
    }
  }

  async #sendCopy(request: RequestMessage, backend: Backend): Promise<void> {
    if (this.#underWay >= MAX_COPIES) {
      throw new RangeError(`More than ${MAX_COPIES} copies under way`);
    }
    this.#underWay++;
    try {
      const destination = this.#options.upstreams.get(backend);
      // The request continues at once, and takes its body along.
      const head = copyHead(request);
      const body = copyBody(request);
      const limit = {
        clock: this.#options.clock,
        limitMs: LIMIT_MS,
        code: "upstream_timeout",
        backend: backend.key,
      } as const;
      await withinLimit(
        new Cancellation(),
        limit,
        (cancellation) => sendAndDrop(destination, head, body, cancellation),
      );
    } finally {
      this.#underWay--;
    }
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

/** Sends a copy and discards the response; a long one, such as an event stream, is cut. */
async function sendAndDrop(
  destination: Destination,
  head: UpstreamRequest,
  copy: Body | undefined,
  cancellation: Cancellation,
): Promise<void> {
  const { body } = await chooseTarget(destination, copy)
    .then((target) => target.send(head, copy, cancellation));
  let bytes = 0;
  for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) return body?.cancel("long enough");
  }
}

async function chooseTarget(
  destination: Destination,
  copy: Body | undefined,
): Promise<AttemptTarget> {
  try {
    await destination.prepare();
    return destination.choose([], undefined, true);
  } catch (error) {
    copy?.cancel(error);
    throw error;
  }
}
