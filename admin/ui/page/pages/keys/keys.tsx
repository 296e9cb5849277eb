/** Keys and metadata of identity providers: source, age and errors. */
import type { ShownDocument } from "../../../responses.ts";
import { Fact, Facts, Time } from "../../kit/data.tsx";
import { duration } from "../../kit/format.ts";
import { Badge, Empty, PageHead, Problem } from "../../kit/layout.tsx";
import { usePolled } from "../../server/poll.ts";

/** The page of identity providers. */
export function IdentityProviders() {
  const { data, error } = usePolled("keys", 3000);
  const keys = data.value;
  return (
    <>
      <PageHead
        title="Keys"
        about="Documents of identity providers, with which tokens are verified."
      />
      <Problem>{error}</Problem>
      {keys && keys.keySets.length + keys.providerMetadata.length === 0 && (
        <Empty title="No policy uses keys" isPanel>
          Add <code>jwtAuthentication</code>{" "}
          to a route or a gateway; its keys and their age appear here.
        </Empty>
      )}
      {keys && <Documents title="Token keys" documents={keys.keySets} />}
      {keys && (
        <Documents
          title="Authorization server metadata"
          documents={keys.providerMetadata}
        />
      )}
    </>
  );
}

interface DocumentsProps {
  readonly title: string;
  readonly documents: readonly ShownDocument[];
}

function Documents({ title, documents }: DocumentsProps) {
  if (documents.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      {documents.map((each) => (
        <DocumentCard key={each.source} document={each} />
      ))}
    </>
  );
}

function DocumentCard({ document }: { readonly document: ShownDocument }) {
  const { source, lastError, leftOutKeys = [], refreshes, fetchedAt } =
    document;
  const isUnused = refreshes === 0 && fetchedAt === null;
  return (
    <section class="panel" aria-label={source}>
      <div class="panel-head">
        <h3 class="break">{source}</h3>
        {lastError
          ? <Badge tone="bad">error</Badge>
          : (
            <Badge tone={isUnused ? "quiet" : "good"}>
              {isUnused ? "not used" : "ok"}
            </Badge>
          )}
      </div>
      {lastError && <p class="problem">Last error: {lastError}</p>}
      {isUnused && <p class="quiet">Not fetched yet; fetched on first use.</p>}
      {leftOutKeys.length > 0 && (
        <>
          <p>Unusable keys:</p>
          <ul>{leftOutKeys.map((each) => <li key={each}>{each}</li>)}</ul>
        </>
      )}
      <DocumentFacts document={document} />
    </section>
  );
}

function DocumentFacts({ document }: { readonly document: ShownDocument }) {
  const {
    issuers,
    keys,
    kids,
    fetchedAt,
    ageSeconds,
    refreshes,
    failures,
    retryAt,
    refreshAt,
  } = document;
  const time = (at: string | null) =>
    at === null ? undefined : <Time at={at} />;
  return (
    <Facts>
      {issuers && <Fact name="Issuers">{issuers.join(", ")}</Fact>}
      {keys !== undefined && <Fact name="Keys">{keys}</Fact>}
      {kids && <Fact name="Key IDs">{kids.join(", ")}</Fact>}
      {fetchedAt !== undefined && <Fact name="Fetched">{time(fetchedAt)}</Fact>}
      {ageSeconds !== undefined && (
        <Fact name="Age">{duration(ageSeconds)}</Fact>
      )}
      {refreshes !== undefined && <Fact name="Refreshes">{refreshes}</Fact>}
      {failures !== undefined && <Fact name="Failed refreshes">{failures}
      </Fact>}
      {retryAt !== undefined && <Fact name="Next attempt">{time(retryAt)}
      </Fact>}
      {refreshAt !== undefined && <Fact name="Stale at">{time(refreshAt)}
      </Fact>}
    </Facts>
  );
}
