/** The remaining budget of rate limits as live bars, and who used what. */
import type { UiResponses } from "../../../responses.ts";
import type { PageProps } from "../../navigation/page.ts";
import { Meter } from "../../kit/data.tsx";
import { duration, number } from "../../kit/format.ts";
import { useState } from "../../kit/framework.ts";
import { Find, Tabs } from "../../kit/inputs.tsx";
import {
  Badge,
  Empty,
  Message,
  PageHead,
  Problem,
  type Tone,
} from "../../kit/layout.tsx";
import { usePolled } from "../../server/poll.ts";
import { budgetState } from "./budget_state.ts";
import { Usage } from "./usage.tsx";
import { remember } from "../../navigation/place.ts";

/** Each budget is redrawn every second. */
const MAX_SHOWN = 100;

type Budget = UiResponses["budgets"]["budgets"][number];
type Tab = "budgets" | "usage";

/** The page of limits and usage. */
export function Limits({ argument }: PageProps) {
  const [first = "", ...choice] = argument.split("/");
  const tab: Tab = first === "usage" ? "usage" : "budgets";
  return (
    <>
      <PageHead
        title="Limits"
        about="What is left of each budget, and who used the tokens and the money."
      />
      <Tabs<Tab>
        label="Limits and usage"
        options={[
          { value: "budgets", title: "Budgets" },
          { value: "usage", title: "Usage" },
        ]}
        value={tab}
        onChange={(next) => remember("limits", next === "usage" ? next : "")}
      >
        {tab === "usage" ? <Usage choice={choice} /> : <Budgets />}
      </Tabs>
    </>
  );
}

function Budgets() {
  const [find, setFind] = useState("");
  const query = new URLSearchParams({
    limit: `${MAX_SHOWN}`,
    find: find.trim(),
  });
  const { data, error } = usePolled(`budgets?${query}`, 1000);
  const shown = data.value;
  return (
    <>
      <div class="row">
        <Find placeholder="route, gateway" text={find} onFind={setFind} />
        <Message>{shown && describeNumber(shown.total, find.trim())}</Message>
      </div>
      <Problem>{error}</Problem>
      {shown?.total === 0 && find.trim() === "" && (
        <Empty title="No rate limit is configured" isPanel>
          Give a route or a gateway a budget of requests, tokens or money:
          <pre>{EXAMPLE}</pre>
        </Empty>
      )}
      <ul class="budgets">
        {shown?.budgets.map((budget) => (
          <BudgetCard
            key={`${budget.scope}\n${budget.entry}`}
            budget={budget}
          />
        ))}
      </ul>
    </>
  );
}

const EXAMPLE = `policies:
  rateLimit:
    local: [{ tokens: 100000, unit: Hours }]`;

function describeNumber(total: number, text: string): string {
  if (total > MAX_SHOWN) {
    return `The ${MAX_SHOWN} of ${total} budgets with the least remaining.`;
  }
  if (total > 0) return `${total} ${total === 1 ? "budget" : "budgets"}.`;
  return text === "" ? "" : "No matching budget.";
}

function BudgetCard({ budget }: { readonly budget: Budget }) {
  const { scope, entry, remaining, limit } = budget;
  const unit = budget.unit === CONCURRENT ? "places" : budget.unit;
  const isKnown = remaining !== undefined && Number.isFinite(remaining);
  const left = isKnown ? Math.max(0, remaining) : limit;
  const text = isKnown
    ? `${number(remaining)} of ${number(limit)} ${unit} left`
    : `${number(limit)} ${unit}; remaining budget unknown`;
  const state = budgetState(budget);
  return (
    <li class={`panel ${state?.tone ?? ""}`.trim()}>
      <div>
        {state && <Badge tone={state.tone}>{state.word}</Badge>}
        <h2>{entry.replace(/^\d+/, (amount) => number(Number(amount)))}</h2>
        <p class="quiet">{scope}</p>
      </div>
      <Meter
        label={`${entry} of ${scope}`}
        value={left}
        max={limit}
        text={text}
        tone={isKnown ? toneOf(left / Math.max(limit, 1)) : "quiet"}
      />
      <p class="left">{text}{describeReset(budget)}</p>
      <p class="quiet">{describeCounts(budget)}</p>
    </li>
  );
}

function toneOf(share: number): Tone {
  if (share < 0.2) return "bad";
  return share < 0.4 ? "warn" : "good";
}

/** Unit of limits without windows. */
const CONCURRENT = "concurrentRequests";

function describeReset(
  { unit, resetSeconds, windowSeconds }: Budget,
): string {
  if (unit === CONCURRENT) return "";
  const window = duration(windowSeconds);
  return resetSeconds === undefined
    ? `; window of ${window}`
    : `; resets in ${duration(resetSeconds)} of ${window}`;
}

const counts: readonly (readonly [string, string])[] = [
  ["admitted", "admitted"],
  ["refused", "rejected"],
  ["tokens", "tokens counted"],
  ["overshoot", "tokens over budget"],
  ["held", "held for requests in progress"],
  ["keys", "keys"],
  ["evictedKeys", "keys evicted"],
  ["leased", "leased"],
  ["pending", "pending"],
  ["state", "state"],
  ["lastError", "last error"],
];

function describeCounts(budget: Budget): string {
  return counts.flatMap(([field, name]) => {
    const value = budget[field];
    return value === undefined || value === null || value === 0
      ? []
      : [`${name}: ${value}`];
  }).join(" · ");
}
