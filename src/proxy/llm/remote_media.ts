import {
  type Cancellation,
  createDeadline,
  unlessCancelled,
} from "../../base/cancellation.ts";
import type { Clock } from "../../base/clock.ts";
import { describeError, GatewayError } from "../../base/errors.ts";
import type { EgressPolicy } from "../../base/wire/egress_policy.ts";
import type { Body } from "../../http/body.ts";
import type { HeldBytes } from "../../http/body_memory.ts";
import type { ResponseMessage } from "../../http/message.ts";
import { ClientCounts } from "../../http/server/contract/client_counts.ts";
import {
  assertUncompressed,
  withResponse,
} from "../../identity/documents/document_client.ts";
import { guardedAddress } from "../../identity/documents/guarded_address.ts";
import type { MediaData } from "../../llm/translation/conversation/conversation.ts";
import { UntranslatableError } from "../../llm/translation/conversation/losses.ts";
import type { FetchedMedia } from "../../llm/translation/conversation/remote_parts.ts";
import { mediaTypeOfContent } from "../../llm/translation/targets/media_types.ts";
import type { PolicyTrace } from "../../policy/contract/policy_trace.ts";
import { MediaCache } from "./media_cache.ts";

/** Limits of one request: Bedrock takes up to 20 images. */
const MAX_URLS = 32;
const PARALLEL = 4;
const MAX_URL_LENGTH = 8192;
const MAX_REDIRECTS = 3;

/** Fetches under way in this thread: of all requests, and from one host. */
const MAX_FETCHES = 256;
const MAX_FETCHES_PER_HOST = 64;

/** Bounds of what is fetched, and where. */
export interface RemoteMediaOptions {
  readonly clock: Clock;
  /** Decides which servers may be asked, those of `trustedHosts` too. */
  readonly egress: EgressPolicy;
  readonly isEnabled: boolean;
  /** Of one image or file. */
  readonly maxBytes: number;
  /** Of all images and files of a request. */
  readonly maxTotalBytes: number;
  /** Time for all of a request. */
  readonly timeoutMs: number;
  /** Hosts, as in URLs, that may have private addresses. */
  readonly trustedHosts: readonly string[];
  /** Resolves a hostname to addresses; with the operating system by default. */
  readonly resolve?:
    | ((hostname: string) => Promise<readonly string[]>)
    | undefined;
}

/** The request that media are fetched for. */
export interface MediaRequest {
  readonly cancellation: Cancellation;
  /** Counts their memory. */
  readonly held: HeldBytes | undefined;
  readonly trace: Pick<PolicyTrace, "report"> | undefined;
}

/**
 * Fetches the images and files of which clients have sent URLs, for providers that take bytes only.
 *
 * The URLs are the clients' choice: fetches reach public addresses only, over HTTPS. A name is resolved once, all its addresses are
 * checked, and the connection goes to a checked address; the same holds for each redirect. No credentials are sent.
 */
export class RemoteMedia {
  readonly #options: RemoteMediaOptions;
  readonly #cache: MediaCache;
  readonly #fetching = new ClientCounts();

  constructor(options: RemoteMediaOptions) {
    this.#options = options;
    this.#cache = new MediaCache(options.clock);
  }

  /**
   * Fetches media within the time and the size of a request.
   * @throws {UntranslatableError} If one cannot be had; the message is for the client.
   * @throws {GatewayError} `body_memory_full`.
   */
  async fetch(
    urls: readonly string[],
    request: MediaRequest,
  ): Promise<FetchedMedia> {
    const { clock, isEnabled, timeoutMs } = this.#options;
    const media = new Map<string, MediaData>();
    if (urls.length === 0 || !isEnabled) return media;
    if (urls.length > MAX_URLS) {
      throw new UntranslatableError(
        `Images and files are at ${urls.length} URLs: the gateway fetches up to ${MAX_URLS} for the provider of this model`,
      );
    }
    const { cancellation, lift } = createDeadline(
      request.cancellation,
      clock,
      timeoutMs,
      () =>
        new UntranslatableError(
          `The images and files at URLs took longer than ${timeoutMs} ms to fetch`,
        ),
    );
    const budget = { bytes: this.#options.maxTotalBytes };
    const queue = urls.values();
    try {
      await Promise.all(Array.from({ length: PARALLEL }, async () => {
        for (const url of queue) {
          media.set(
            url,
            await this.#get(url, { ...request, cancellation }, budget),
          );
        }
      }));
      return media;
    } catch (error) {
      cancellation.cancel(error);
      throw error;
    } finally {
      lift();
    }
  }

  async #get(
    url: string,
    request: MediaRequest,
    budget: { bytes: number },
  ): Promise<MediaData> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    const known = this.#cache.get(url);
    const media = known ?? await this.#load(url, request, budget);
    if (known === undefined) this.#cache.set(url, media);
    else take(budget, known.data.length, request.held);
    request.trace?.report({
      type: "policyEvent",
      kind: "llm",
      details: {
        fetched: describeUrl(url),
        contentType: media.mediaType,
        base64Length: media.data.length,
        cached: known !== undefined,
        milliseconds: Math.round(clock.monotonic() - startedAt),
      },
    });
    return media;
  }

  async #load(
    url: string,
    request: MediaRequest,
    budget: { bytes: number },
  ): Promise<MediaData> {
    let at = url;
    try {
      for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
        const found = await this.#request(at, request, budget);
        if (typeof found !== "string") return found;
        at = found;
      }
      throw new MediaProblem(`it has more than ${MAX_REDIRECTS} redirects`);
    } catch (error) {
      const { cancellation } = request;
      if (cancellation.cancelled) throw cancellation.reason;
      if (error instanceof GatewayError && error.code === "body_memory_full") {
        throw error;
      }
      throw new UntranslatableError(
        `Cannot fetch ${describeUrl(url)}: ${
          error instanceof MediaProblem ? error.message : UNREACHABLE
        }`,
        { cause: describeError(error) },
      );
    }
  }

  /** Returns the content, or the URL of a redirect. */
  async #request(
    url: string,
    { cancellation, held }: MediaRequest,
    budget: { bytes: number },
  ): Promise<MediaData | string> {
    const { clock, egress, trustedHosts, timeoutMs, resolve, maxBytes } =
      this.#options;
    const problem = urlProblem(url);
    if (problem !== undefined) throw new MediaProblem(problem);
    const finished = this.#start(new URL(url).host);
    try {
      const guarded = guardedAddress(url, {
        egress,
        resolve,
        isTrusted: ({ authority }) => trustedHosts.includes(authority),
      });
      return await withResponse(
        await unlessCancelled(guarded, cancellation),
        {
          clock,
          egress,
          isLookedUp: true,
          cancellation,
          timeoutMs,
          accept: ACCEPT,
        },
        async (response) => {
          const next = redirectOf(response, url);
          if (next !== undefined) return next;
          assertContent(response);
          const bytes = await readBytes(
            response.body,
            maxBytes,
            (length) => take(budget, length, held),
          );
          const declared = response.headers.get("content-type") ?? "";
          const mediaType = mediaTypeOfContent(bytes, declared);
          if (mediaType === undefined) {
            throw new MediaProblem("it is no image or file of a known type");
          }
          return { mediaType, data: bytes.toBase64() };
        },
      );
    } finally {
      finished();
    }
  }

  #start(host: string): () => void {
    const ofHost = this.#fetching.of(host);
    const total = this.#fetching.total();
    if (total >= MAX_FETCHES || ofHost >= MAX_FETCHES_PER_HOST) {
      throw new GatewayError(
        "body_memory_full",
        "gateway",
        `Cannot fetch media from "${host}": ${ofHost} requests to it, and ${total} to all hosts, are under way`,
      );
    }
    return this.#fetching.add(host);
  }
}

/** A problem that the client may know: it is about what it sent, or about a public server. */
class MediaProblem extends Error {}

/** The same for every reason, so that clients learn nothing about names and ports inside the network. */
const UNREACHABLE =
  "its host cannot be reached, or is not on the public internet";

const ACCEPT = "image/*, application/pdf, */*;q=0.5";

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

function redirectOf(
  { status, headers, body }: ResponseMessage,
  url: string,
): string | undefined {
  if (!redirects.has(status)) return undefined;
  body?.cancel("redirected");
  const next = URL.parse(headers.get("location") ?? "", url);
  if (next === null) throw new MediaProblem("it has a redirect without a URL");
  return next.href;
}

function assertContent({ status, headers, body }: ResponseMessage): void {
  if (status !== 200) {
    body?.cancel("no content");
    throw new MediaProblem(`its server returned ${status}`);
  }
  assertUncompressed(headers);
}

/** Reads a body. @param onBytes Called with the length of each piece before it is kept. */
async function readBytes(
  body: Body | undefined,
  maxBytes: number,
  onBytes: (length: number) => void,
): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (let chunk = await body?.read(); chunk; chunk = await body?.read()) {
    length += chunk.length;
    try {
      if (length > maxBytes) {
        throw new MediaProblem(`it is longer than ${maxBytes} bytes`);
      }
      onBytes(chunk.length);
    } catch (error) {
      body?.cancel(error);
      throw error;
    }
    // The connection uses its memory again.
    chunks.push(new Uint8Array(chunk));
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** Counts bytes of a request. @throws When it has too many, or the memory is full. */
function take(
  budget: { bytes: number },
  length: number,
  held: HeldBytes | undefined,
): void {
  budget.bytes -= length;
  if (budget.bytes < 0) {
    throw new MediaProblem("all images and files together are too long");
  }
  held?.take(length);
}

function urlProblem(text: string): string | undefined {
  if (text.length > MAX_URL_LENGTH) {
    return `its URL is longer than ${MAX_URL_LENGTH} characters`;
  }
  const url = URL.parse(text);
  if (url === null) return "it has no valid URL";
  if (url.protocol !== "https:") return 'its URL must begin with "https://"';
  if (url.username !== "" || url.password !== "") {
    return "its URL has user information";
  }
  return undefined;
}

/** Formats a URL without what may be secret: signed URLs have it in the query. */
function describeUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return "a URL";
  return `${url.protocol}//${url.host}${url.pathname}`.slice(0, 200);
}
