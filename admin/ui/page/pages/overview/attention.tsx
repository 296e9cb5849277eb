/** Sections of the overview for what may need attention: budgets, backends, failures and spending. */
import type { UiResponses } from "../../../responses.ts";
import type { TrafficReport } from "../../../../../src/telemetry/traffic/traffic_report.ts";
import { Meter } from "../../kit/data.tsx";
import { compact, dollars, number, percent } from "../../kit/format.ts";
import { Badge, Empty, Section } from "../../kit/layout.tsx";
import { Table } from "../../kit/table.tsx";
import { budgetState } from "../limits/budget_state.ts";
import { linkTo } from "../../navigation/place.ts";
import { usePolled } from "../../server/poll.ts";

type Budget = UiResponses["budgets"]["budgets"][number];
type Failure = UiResponses["requests"]["requests"][number];

const MAX_SHOWN = 5;

/** The four sections. @param traffic By backend. */
export function Attention(
  { traffic }: { readonly traffic: TrafficReport | undefined },
) {
  return (
    <div class="grid-2">
      <Budgets />
      <Backends traffic={traffic} />
      <Causes />
      <Spenders />
    </div>
  );
}

function Budgets() {
  const { data } = usePolled(`budgets?limit=${MAX_SHOWN}`, 5000);
  const budgets = data.value?.budgets;
  return (
    <Section
      title="Budgets"
      about="The least remaining first."
      actions={<a href={linkTo("limits")}>Show all</a>}
      isFlush={budgets !== undefined && budgets.length > 0}
    >
      {budgets?.length === 0 && (
        <Empty title="No budget">
          Limits and the budgets of keys appear here.
        </Empty>
      )}
      {budgets !== undefined && budgets.length > 0 && (
        <Table<Budget>
          label="Budgets with the least remaining"
          rows={budgets}
          keyOf={({ scope, entry }) => `${scope}\n${entry}`}
          columns={[
            ["Budget", ({ scope, entry }) => (
              <>
                {entry}
                <div class="quiet">{scope}</div>
              </>
            ), "wide"],
            ["Left", (budget) => <Left budget={budget} />],
          ]}
        />
      )}
    </Section>
  );
}

function Left({ budget }: { readonly budget: Budget }) {
  const { remaining, limit, unit } = budget;
  if (remaining === undefined) return <>unknown</>;
  const state = budgetState(budget);
  const share = percent(Math.max(0, remaining) / Math.max(limit, 1));
  return (
    <>
      {state && <Badge tone={state.tone}>{state.word}</Badge>} {share} of{" "}
      {compact(limit)} {unit}
    </>
  );
}

function Backends(
  { traffic }: { readonly traffic: TrafficReport | undefined },
) {
  const failing = (traffic?.rows ?? [])
    .filter(({ serverErrors }) => serverErrors > 0)
    .toSorted((a, b) => errorRate(b) - errorRate(a)).slice(0, MAX_SHOWN);
  return (
    <Section
      title="Failing backends"
      about="Responses with 5xx in the last 15 minutes."
      actions={<a href={linkTo("tasks")}>Show endpoints</a>}
      isFlush={failing.length > 0}
    >
      {traffic !== undefined && failing.length === 0 && (
        <Empty title="No backend fails">
          Backends whose requests end with 5xx appear here.
        </Empty>
      )}
      {failing.length > 0 && (
        <Table
          label="Failing backends"
          rows={failing}
          keyOf={({ name }) => name ?? ""}
          columns={[
            ["Backend", ({ name }) => name || "The gateway itself", "wide"],
            [
              "Error rate",
              (row) => (
                <Badge tone={errorRate(row) > 0.05 ? "bad" : "warn"}>
                  {percent(errorRate(row))}
                </Badge>
              ),
              "number",
            ],
            ["Requests", ({ requests }) => number(requests), "number"],
          ]}
        />
      )}
    </Section>
  );
}

function errorRate(
  { requests, serverErrors }: TrafficReport["rows"][number],
): number {
  return requests === 0 ? 0 : serverErrors / requests;
}

interface Cause {
  readonly cause: string;
  readonly count: number;
  readonly newest: Failure;
}

function Causes() {
  const { data } = usePolled("requests?status=failed&limit=200", 5000);
  const requests = data.value?.requests;
  const causes = causesOf(requests ?? []);
  return (
    <Section
      title="Failures by cause"
      about="Of the failed requests that are remembered."
      actions={<a href={linkTo("failures")}>Show all</a>}
      isFlush={causes.length > 0}
    >
      {requests?.length === 0 && (
        <Empty title="No recent failures">
          Requests that end with 4xx or 5xx appear here.
        </Empty>
      )}
      {causes.length > 0 && (
        <Table<Cause>
          label="Failures by cause"
          rows={causes.slice(0, MAX_SHOWN)}
          keyOf={({ cause }) => cause}
          columns={[
            [
              "Cause",
              ({ cause, newest }) => (
                <a href={linkTo("failures", newest.record)}>{cause}</a>
              ),
              "wide",
            ],
            ["Status", ({ newest }) => number(newest.status), "number"],
            ["Requests", ({ count }) => number(count), "number"],
          ]}
        />
      )}
    </Section>
  );
}

/** Groups failures by their cause, as far as it is the same for many: without quoted values. */
function causesOf(requests: readonly Failure[]): readonly Cause[] {
  const groups = Map.groupBy(
    requests,
    ({ cause, reason }) => shortCause(cause ?? reason),
  );
  return [...groups].flatMap(([cause, [newest, ...others]]) =>
    newest === undefined ? [] : [{ cause, count: 1 + others.length, newest }]
  ).toSorted((a, b) => b.count - a.count);
}

/** The values of the request come after the first sentence. */
function shortCause(cause: string): string {
  const [first = cause] = cause.split(/(?<=\.) (?=In this request)/);
  return first.length > 160 ? `${first.slice(0, 160)}…` : first;
}

function Spenders() {
  const { data } = usePolled("usage?by=team,key&since=24h", 10_000);
  const rows = data.value?.usage.slice(0, MAX_SHOWN);
  const most = rows?.[0]?.costUsd ?? 0;
  return (
    <Section
      title="Top spenders"
      about="Of the last 24 hours."
      actions={<a href={linkTo("limits", "usage/team")}>Show usage</a>}
      isFlush={rows !== undefined && rows.length > 0}
    >
      {rows?.length === 0 && (
        <Empty title="Nothing was spent">
          Keys and users of LLMs and MCP tools appear here.
        </Empty>
      )}
      {rows !== undefined && rows.length > 0 && (
        <Table
          label="Top spenders"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            ["Who", ({ team, key }) => (
              <>
                {team || key || "–"}
                {team && <div class="quiet">{key}</div>}
              </>
            )],
            ["Share", ({ name, costUsd }) => (
              <Meter
                label={`Cost of ${name}`}
                value={costUsd}
                max={Math.max(most, Number.MIN_VALUE)}
                text={dollars(costUsd)}
                tone="info"
              />
            ), "wide"],
            ["Cost", ({ costUsd }) => dollars(costUsd), "number"],
            [
              "Tokens",
              ({ inputTokens, outputTokens }) =>
                compact(inputTokens + outputTokens),
              "number",
            ],
          ]}
        />
      )}
    </Section>
  );
}
