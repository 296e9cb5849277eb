/** API keys; keys and metadata of identity providers: source, age and errors. */
import type { UiResponses } from "../../../responses.ts";
import { Fact, Facts, Time } from "../../kit/data.tsx";
import { duration } from "../../kit/format.ts";
import type { ComponentChildren } from "../../kit/framework.ts";
import { Badge, Empty, PageHead, Problem } from "../../kit/layout.tsx";
import type { PageProps } from "../../navigation/page.ts";
import { usePolled } from "../../server/poll.ts";
import { ApiKeys, NoStore } from "./api_keys.tsx";

type ShownDocument = UiResponses["keys"]["keySets"][number];

/** The page of API keys and identity providers. */
export function IdentityProviders({ status }: PageProps) {
  const { data, error } = usePolled("keys", 3000);
  const keys = data.value;
  return (
    <>
      <PageHead
        title="Keys"
        about="API keys in the store, and documents of identity providers, with which tokens are verified."
      />
      {status.server === "admin" &&
        (status.hasStore
          ? <ApiKeys canChange={!status.readOnly} />
          : <NoStore />)}
      <Problem>{error}</Problem>
      {keys && keys.keySets.length + keys.providerMetadata.length === 0 && (
        <Empty title="No policy verifies tokens" isPanel>
          Add <code>jwtAuthentication</code>{" "}
          to a route or a gateway; the keys of its provider and their age appear
          here.
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

/** Facts about a document; `undefined` hides one that its kind does not have. */
const facts: readonly (readonly [
  name: string,
  value: (document: ShownDocument) => ComponentChildren,
])[] = [
  ["Issuers", ({ issuers }) => issuers?.join(", ")],
  ["Keys", ({ keys }) => keys],
  ["Key IDs", ({ kids }) => kids?.join(", ")],
  ["Fetched", ({ fetchedAt }) => fetchedAt && <Time at={fetchedAt} />],
  [
    "Age",
    ({ ageSeconds }) =>
      ageSeconds === undefined ? undefined : duration(ageSeconds),
  ],
  ["Refreshes", ({ refreshes }) => refreshes],
  ["Failed refreshes", ({ failures }) => failures],
  ["Next attempt", ({ retryAt }) => retryAt && <Time at={retryAt} />],
  ["Stale at", ({ refreshAt }) => refreshAt && <Time at={refreshAt} />],
];

function DocumentFacts({ document }: { readonly document: ShownDocument }) {
  return (
    <Facts>
      {facts.map(([name, valueOf]) => {
        const value = valueOf(document);
        return value !== undefined && (
          <Fact key={name} name={name}>{value}</Fact>
        );
      })}
    </Facts>
  );
}
