import { createHash } from "node:crypto";
import { unlessCancelled } from "../../base/cancellation.ts";
import { GatewayError } from "../../base/errors.ts";
import type { UpstreamRequest } from "../../http/client/upstream.ts";
import { HeaderList } from "../../http/header_list.ts";
import { readUpTo } from "../../http/read_bytes.ts";
import { convertOnce } from "./conversion_thread.ts";
import type {
  ConvertedDocument,
  OperationSelection,
} from "./document/rest_tool.ts";
import type { SendHttp } from "../servers/http/http_transport.ts";
import { MessageLimit } from "../servers/failures/message_limit.ts";
import type { ConnectorOptions } from "../servers/server_connector.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";

/** Content or place of the document of an API. */
export type DocumentSource =
  /** Content of a file. */
  | { readonly text: string }
  | {
    /** Host, with its port unless that is implied. */
    readonly authority: string;
    /** Path and query. */
    readonly path: string;
    readonly send: SendHttp;
  };

/** A converted document and what names its content. */
export interface LoadedDocument {
  readonly converted: ConvertedDocument;
  readonly digest: string;
}

/** Limit of a document. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;
/** Time limit for fetching a document. */
const FETCH_MS = 30_000;
/** Documents at a URL are fetched again after this time. */
const REFRESH_MS = 3_600_000;
const SHOWN_PROBLEMS = 5;

/** The document of an API: read and converted when it is needed, and fetched again from time to time. */
export class ApiDocument {
  readonly #source: DocumentSource;
  readonly #selection: OperationSelection;
  readonly #options: ConnectorOptions;
  readonly #onChange: () => void;
  #loaded: LoadedDocument | undefined;
  #loadedAt = -Infinity;
  #loading: Promise<LoadedDocument> | undefined;
  /** @param onChange Called when the document is another one. */
  constructor(
    source: DocumentSource,
    selection: OperationSelection,
    options: ConnectorOptions,
    onChange: () => void,
  ) {
    this.#source = source;
    this.#selection = selection;
    this.#options = options;
    this.#onChange = onChange;
  }

  /** The document; `undefined` before it is converted. */
  get current(): LoadedDocument | undefined {
    return this.#loaded;
  }

  /** Returns the document; one that is old is fetched again meanwhile. @throws {ServerFailure} */
  async get(): Promise<LoadedDocument> {
    const { clock } = this.#options;
    const isOld = "send" in this.#source &&
      clock.monotonic() - this.#loadedAt > REFRESH_MS;
    if (this.#loaded !== undefined && !isOld) return this.#loaded;
    this.#loading ??= this.#load().finally(() => this.#loading = undefined);
    if (this.#loaded === undefined) return await this.#loading;
    // The old one is used until there is a new one; `#load` logs why there is none.
    this.#loading.catch(() => {});
    return this.#loaded;
  }

  async #load(): Promise<LoadedDocument> {
    const { clock, log, settings } = this.#options;
    try {
      const text = "text" in this.#source
        ? this.#source.text
        : await this.#fetch(this.#source);
      const digest = createHash("sha256").update(text).digest("base64url");
      this.#loadedAt = clock.monotonic();
      if (this.#loaded?.digest === digest) return this.#loaded;
      const isKnown = this.#loaded !== undefined;
      this.#loaded = { digest, converted: await this.#convert(text, digest) };
      if (isKnown) this.#onChange();
      return this.#loaded;
    } catch (error) {
      if (this.#loaded === undefined) throw error;
      this.#loadedAt = clock.monotonic();
      log.warn("Cannot read the OpenAPI document again; the old one stays", {
        server: settings.name,
        error,
      });
      return this.#loaded;
    }
  }

  async #convert(text: string, digest: string): Promise<ConvertedDocument> {
    const { clock, closing, log, settings: { name } } = this.#options;
    const outcome = await unlessCancelled(
      convertOnce(text, digest, this.#selection, clock),
      closing,
    );
    if ("problem" in outcome) {
      const problem =
        `has an OpenAPI document that cannot be used: ${outcome.problem}`;
      throw new ServerFailure(name, "unreachable", problem);
    }
    const { converted } = outcome;
    if (converted.problems.length > 0) {
      log.warn("Parts of an OpenAPI document are left out", {
        server: name,
        tools: converted.tools.length,
        problems: converted.problems.length,
        first: converted.problems.slice(0, SHOWN_PROBLEMS)
          .map(({ place, message }) => `${place}: ${message}`),
      });
    }
    return converted;
  }

  async #fetch(
    { authority, path, send }: Extract<DocumentSource, { send: SendHttp }>,
  ): Promise<string> {
    const { clock, closing, settings: { name } } = this.#options;
    const fail = (problem: string, cause?: unknown) =>
      new ServerFailure(
        name,
        "unreachable",
        `has no OpenAPI document: ${problem}`,
        { cause },
      );
    const limit = new MessageLimit(
      closing,
      clock,
      FETCH_MS,
      () => fail("its host did not respond in time"),
    );
    const { cancellation } = limit;
    try {
      const request = documentRequest(authority, path);
      const { status, body } = await send(request, undefined, cancellation);
      if (status !== 200) {
        body?.cancel("no document");
        throw fail(`its host responds with status ${status}`);
      }
      const { bytes, isCut } = await unlessCancelled(
        readUpTo(body, MAX_DOCUMENT_BYTES),
        cancellation,
      ).finally(() => body?.cancel("read"));
      if (isCut) throw fail("it is longer than 32 MB");
      return new TextDecoder().decode(bytes);
    } catch (error) {
      if (cancellation.cancelled) throw cancellation.reason;
      if (!(error instanceof GatewayError)) throw error;
      throw fail("its host is not reachable", error);
    } finally {
      limit.end();
    }
  }
}

/** Returns the request for a document: without the credential of the API, which may have another host. */
function documentRequest(authority: string, target: string): UpstreamRequest {
  return {
    method: "GET",
    target,
    authority,
    headers: HeaderList.from([
      ["accept", "application/json, application/yaml, */*;q=0.5"],
      ["accept-encoding", "identity"],
    ]),
    upgrade: undefined,
    expectsContinue: false,
    sendInformational: () => {},
  };
}
