import { unlessCancelled } from "../../base/cancellation.ts";
import type { SendHttp } from "../servers/http/http_transport.ts";
import { MessageLimit } from "../servers/failures/message_limit.ts";
import type { ServerConnection } from "../servers/server_connection.ts";
import type {
  ConnectorOptions,
  ServerConnector,
} from "../servers/server_connector.ts";
import { ServerFailure } from "../servers/failures/server_failure.ts";
import { ApiDocument, type DocumentSource } from "./api_document.ts";
import type { OperationSelection, RestApi } from "./document/rest_tool.ts";
import { OpenApiConnection } from "./openapi_connection.ts";

/** A REST API and its document. */
export interface OpenApiOptions {
  readonly api: RestApi;
  readonly operations: OperationSelection;
  readonly document: DocumentSource;
  readonly send: SendHttp;
}

/** Offers the operations of a REST API that has an OpenAPI document as tools. */
export class OpenApiConnector implements ServerConnector {
  readonly #api: OpenApiOptions;
  readonly #options: ConnectorOptions;
  readonly #document: ApiDocument;
  readonly #watchers = new Set<() => void>();

  constructor(api: OpenApiOptions, options: ConnectorOptions) {
    this.#api = api;
    this.#options = options;
    this.#document = new ApiDocument(
      api.document,
      api.operations,
      options,
      () => {
        for (const watcher of this.#watchers) watcher();
      },
    );
  }

  /** All users have the same credential. */
  scopeOf(): string {
    return "";
  }

  /** Does not wait for a long conversion: it goes on, and a check finds its result. */
  async connect(): Promise<ServerConnection> {
    const { clock, closing, settings } = this.#options;
    const { name, timeouts } = settings;
    const problem = "reads its OpenAPI document still";
    const limit = new MessageLimit(
      closing,
      clock,
      timeouts.connectMs,
      () => new ServerFailure(name, "unreachable", problem),
    );
    const getting = this.#document.get();
    try {
      const { converted, digest } = await unlessCancelled(
        getting,
        limit.cancellation,
      );
      return new OpenApiConnection(converted, digest, {
        settings,
        api: this.#api.api,
        send: this.#api.send,
        clock,
        onChange: (watcher) => {
          this.#watchers.add(watcher);
          return () => void this.#watchers.delete(watcher);
        },
      });
    } finally {
      limit.end();
    }
  }

  isStale({ view }: ServerConnection): boolean {
    return view !== this.#document.current?.digest;
  }

  forget(): void {
    // A document that cannot be converted stays that until it changes.
  }

  retire(): void {
    // Requests under way need no document.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
