/** Details of the selected item of the topology. */
import { Code } from "../../kit/data.tsx";
import { FactLines, FactList } from "../../kit/fact_list.tsx";
import { Loading, Problem } from "../../kit/layout.tsx";
import { Table } from "../../kit/table.tsx";
import { linkTo } from "../../navigation/place.ts";
import { useFetched } from "../../server/poll.ts";
import { type Item, type Model, relatedTo } from "./route_model.ts";

interface DetailProps {
  readonly model: Model;
  readonly item: Item;
  /** Of the configuration. */
  readonly version: string;
}

/** Everything about the selected item. */
export function Detail({ model, item, version }: DetailProps) {
  const related = relatedTo(model, item.id).size - 1;
  return (
    <section class="panel" aria-label="Details">
      <div class="panel-head">
        <div>
          <h2>{item.title}</h2>
          <p class="quiet">{item.subtitle} · {related} related</p>
        </div>
        <TraceLink item={item} />
      </div>
      {item.part === undefined ? <DetailFacts {...item} /> : (
        <PartFacts
          key={item.id}
          item={item}
          part={item.part}
          version={version}
        />
      )}
    </section>
  );
}

interface PartFactsProps extends Pick<DetailProps, "item" | "version"> {
  readonly part: NonNullable<Item["part"]>;
}

/** Loads the details of a route or a policy, of which there may be thousands. */
function PartFacts({ item, part, version }: PartFactsProps) {
  const query = new URLSearchParams(part);
  const { data, problem } = useFetched(`config/part?${query}`, version);
  if (data === undefined) {
    return problem === "" ? <Loading /> : <Problem>{problem}</Problem>;
  }
  const { title, policies = [] } = item;
  if ("policy" in data) {
    return <DetailFacts title={title} detail={data.policy} />;
  }
  const { route } = data;
  return (
    <DetailFacts
      title={title}
      detail={route}
      policies={[...policies, ...route.policies]}
    />
  );
}

function DetailFacts(
  { title, detail, policies }: Pick<Item, "title" | "detail" | "policies">,
) {
  return (
    <>
      {policies && <Policies policies={policies} />}
      <FactList
        value={policies === undefined || typeof detail !== "object"
          ? detail
          // The policies have a table of their own.
          : { ...detail, policies: undefined }}
      />
      <details>
        <summary>As JSON</summary>
        <Code value={detail} label={`${title} as JSON`} />
      </details>
    </>
  );
}

/** Lists the policies in force, and where each comes from. */
function Policies(
  { policies }: { readonly policies: NonNullable<Item["policies"]> },
) {
  if (policies.length === 0) {
    return <p class="quiet">No policy is in force here.</p>;
  }
  return (
    <Table
      label="Policies in force"
      rows={policies}
      keyOf={({ kind, source }) => `${kind} ${source}`}
      columns={[
        ["Policy", ({ kind }) => kind],
        [
          "From",
          ({ kind, source }) => (
            <a href={linkTo("topology", `policy ${kind} ${source}`)}>
              {source}
            </a>
          ),
        ],
        [
          "Value",
          ({ config }) => <FactLines value={config} />,
          "wide",
        ],
      ]}
    />
  );
}

/** Links to the live trace with a filter for the route's first path. */
function TraceLink({ item: { path } }: { readonly item: Item }) {
  if (path === undefined || path.type === "RegularExpression") return null;
  const value = JSON.stringify(path.value);
  const filter = path.type === "Exact"
    ? `request.path == ${value}`
    : `request.path.startsWith(${value})`;
  return <a href={linkTo("trace", filter)}>Trace requests</a>;
}
