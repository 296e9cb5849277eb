/** Usage by team, model and so on, and its download for a charge-back. */
import type { UiResponses } from "../../../responses.ts";
import { Meter, Stats } from "../../kit/data.tsx";
import { compact, dollars, number } from "../../kit/format.ts";
import { useState } from "../../kit/framework.ts";
import { Button, Choice } from "../../kit/inputs.tsx";
import { Empty, Problem } from "../../kit/layout.tsx";
import { download } from "../../kit/download.ts";
import { Table } from "../../kit/table.tsx";
import { getText, messageOf } from "../../server/api.ts";
import { remember } from "../../navigation/place.ts";
import { usePolled } from "../../server/poll.ts";

type UsageRow = UiResponses["usage"]["usage"][number];

const groups = [
  { value: "key", title: "Key" },
  { value: "user", title: "User" },
  { value: "team", title: "Team" },
  { value: "tag", title: "Tag" },
  { value: "model", title: "Model" },
  { value: "provider", title: "Provider" },
  { value: "route", title: "Route" },
  { value: "server", title: "MCP server" },
  { value: "tool", title: "MCP tool" },
  { value: "team,model", title: "Team and model" },
  { value: "team,user,key", title: "Team, user and key" },
] as const;

type Group = typeof groups[number]["value"];

const MONTHS = 13;

/** Lists the times that can be chosen: the last hours and days, and each month that is kept. */
function times(now: Date): { value: string; title: string }[] {
  const months = Array.from({ length: MONTHS }, (_, back) => {
    const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back);
    const value = new Date(start).toISOString().slice(0, 7);
    const title = back === 0 ? `This month, ${value}` : value;
    return { value: `month=${value}`, title };
  });
  return [
    { value: "since=1h", title: "Last hour" },
    { value: "since=24h", title: "Last 24 hours" },
    { value: "since=7d", title: "Last 7 days" },
    { value: "since=30d", title: "Last 30 days" },
    ...months,
  ];
}

interface UsageProps {
  /** The group and the time, from the address. */
  readonly choice: readonly string[];
}

/** The tab of usage. */
export function Usage({ choice: [group, time = "since=24h"] }: UsageProps) {
  const by = groups.find(({ value }) => value === group)?.value ?? "key";
  const choose = (by: Group, time: string) =>
    remember("limits", `usage/${by}/${time}`);
  const [problem, setProblem] = useState("");
  const query = `by=${by}&${time}`;
  const { data, error } = usePolled(`usage?${query}`, 5000);
  const rows = data.value?.usage;
  const save = async () => {
    try {
      const csv = await getText(`usage?${query}&format=csv`);
      download(`usage-${time.split("=")[1]}.csv`, `${csv}\n`, "text/csv");
      setProblem("");
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <>
      <div class="row">
        <Choice
          label="By"
          value={by}
          onChange={(next) => choose(next, time)}
          options={groups}
        />
        <Choice
          label="Time"
          value={time}
          onChange={(next) => choose(by, next)}
          options={times(new Date())}
        />
        <Button onPress={() => void save()}>Download CSV</Button>
      </div>
      <Problem>{problem || error.value}</Problem>
      {rows !== undefined && rows.length > 0 && <Totals rows={rows} />}
      {rows && (
        <section
          class={rows.length === 0 ? "panel" : "panel flush"}
          aria-label="Usage"
        >
          {rows.length === 0
            ? (
              <Empty title="Nothing was used">
                Usage counts requests to LLM routes and calls of MCP tools, per
                API key or subject of a token. It appears with the first
                response.
              </Empty>
            )
            : <UsageTable rows={rows} by={by} />}
        </section>
      )}
    </>
  );
}

function Totals({ rows }: { readonly rows: readonly UsageRow[] }) {
  const sum = (of: (row: UsageRow) => number) =>
    rows.reduce((total, row) => total + of(row), 0);
  return (
    <Stats
      figures={[
        ["Cost", dollars(sum(({ costUsd }) => costUsd))],
        ["Input tokens", compact(sum(({ inputTokens }) => inputTokens))],
        ["Output tokens", compact(sum(({ outputTokens }) => outputTokens))],
        ["Requests", number(sum(({ requests }) => requests))],
      ]}
    />
  );
}

/** More rows are in the download. */
const MAX_SHOWN = 200;

function UsageTable(
  { rows, by }: { readonly rows: readonly UsageRow[]; readonly by: Group },
) {
  const all = rows.reduce((sum, { costUsd }) => sum + costUsd, 0);
  const title = groups.find(({ value }) => value === by)?.title ?? by;
  return (
    <>
      <Table
        label={`Usage by ${title.toLowerCase()}`}
        rows={rows.slice(0, MAX_SHOWN)}
        keyOf={({ name }) => name}
        columns={[
          [title, ({ name }) => name.replace(/^(, )+$/, "") || "–"],
          ["Share of cost", ({ name, costUsd }) => (
            <Meter
              label={`Cost of ${name}`}
              value={costUsd}
              max={Math.max(all, Number.MIN_VALUE)}
              text={dollars(costUsd)}
              tone="info"
            />
          ), "wide"],
          ["Cost", ({ costUsd }) => dollars(costUsd), "number"],
          ["Input tokens", ({ inputTokens }) => compact(inputTokens), "number"],
          [
            "Output tokens",
            ({ outputTokens }) => compact(outputTokens),
            "number",
          ],
          ["Requests", ({ requests }) => number(requests), "number"],
          ["Not counted", ({ uncounted }) => number(uncounted), "number"],
        ]}
      />
      {rows.length > MAX_SHOWN && (
        <p class="quiet">
          The first {number(MAX_SHOWN)} of {number(rows.length)}{" "}
          rows; the download has all.
        </p>
      )}
    </>
  );
}
