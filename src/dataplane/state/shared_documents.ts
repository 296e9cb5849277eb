import { describeError } from "../../base/errors.ts";
import type {
  CachedDocument,
  SharedDocuments,
} from "../../identity/documents/document_cache.ts";
import {
  DocumentUnavailableError,
  type RemoteDocument,
} from "../../identity/documents/remote_document.ts";
import type {
  IdentityLease,
  IdentityStore,
} from "../../identity/identity_store.ts";
import type { CallHandlers, Channel } from "./channel.ts";
import type { DocumentCalls, DocumentReply } from "./state_calls.ts";

/** Handles the calls of one worker for documents of identity providers, which are fetched once for all workers. */
export function serveDocuments(store: IdentityStore): {
  readonly handlers: CallHandlers<DocumentCalls>;
  end(): void;
} {
  const leases = new Map<
    number,
    { readonly lease: IdentityLease; readonly document: Versions }
  >();
  const release = (id: number) => {
    leases.get(id)?.lease.release();
    leases.delete(id);
  };
  const handlers: CallHandlers<DocumentCalls> = {
    useDocument(id, place) {
      const lease = store.lease();
      leases.set(id, { lease, document: lease.document(place) });
    },
    async latestDocument(id) {
      const version = await leases.get(id)?.document.latest();
      return version && withoutValue(version);
    },
    async freshDocument(id, newerThan) {
      const { document } = leases.get(id) ?? {};
      if (document === undefined) return noLongerUsed;
      try {
        return { document: withoutValue(await document.fresh(newerThan)) };
      } catch (error) {
        return toFailure(error);
      }
    },
    releaseDocument: release,
  };
  return {
    handlers,
    end() {
      for (const id of [...leases.keys()]) release(id);
    },
  };
}

/** Creates the documents of a worker, which the control thread fetches. */
export function createSharedDocuments(
  control: Pick<
    Channel<DocumentCalls, Record<never, never>>,
    "call" | "notify"
  >,
): SharedDocuments {
  let lastId = 0;
  return (place) => {
    const id = ++lastId;
    control.notify("useDocument", id, place);
    return {
      latest: () => control.call("latestDocument", id),
      async fresh(newerThan) {
        const reply = await control.call("freshDocument", id, newerThan);
        if ("document" in reply) return reply.document;
        throw new DocumentUnavailableError(reply.failure, reply.retryAfter);
      },
      release: () => control.notify("releaseDocument", id),
    };
  };
}

type Versions = Pick<RemoteDocument<unknown>, "latest" | "fresh">;

const noLongerUsed = {
  failure: "the configuration does not use it any more",
  retryAfter: 1,
};

function toFailure(error: unknown): DocumentReply {
  if (!(error instanceof DocumentUnavailableError)) throw error;
  const { cause = error, retryAfter } = error;
  return { failure: describeError(cause), retryAfter };
}

/** Keys cannot be passed to another thread, which reads them again. */
function withoutValue({ text, fetchedAt, freshMs }: CachedDocument) {
  return { text, fetchedAt, freshMs };
}
