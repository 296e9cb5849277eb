/** Evaluates an expression for a request, with the value of each of its parts. */
import type { UiResponses } from "../../../responses.ts";
import { useEffect, useState } from "../../kit/framework.ts";
import { Choice } from "../../kit/inputs.tsx";
import { Badge, Problem, Section } from "../../kit/layout.tsx";
import { Table } from "../../kit/table.tsx";
import { getJson, messageOf, postJson } from "../../server/api.ts";
import { useFetched } from "../../server/poll.ts";
import { expressionText, tryOn, variablesText } from "../traces/sample.ts";

const PAUSE_MS = 250;
const MAX_FAILURES = 50;

type PartsResult = UiResponses["playground/evaluate"];
type EvaluatedPart = Extract<PartsResult, { parts: unknown }>["parts"][number];

/** The tab for expressions. */
export function TryExpression() {
  const { result, problem } = useResult();
  const fault = result && "fault" in result ? result.fault : "";
  return (
    <div class="grid-2">
      <div class="stack">
        <Section
          title="Expression"
          about="CEL, as in rules, keys of limits and transformations."
        >
          <textarea
            rows={4}
            aria-label="Expression"
            value={expressionText.value}
            spellcheck={false}
            onInput={({ currentTarget }) => {
              expressionText.value = currentTarget.value;
            }}
          />
        </Section>
        <Section title="Value" isFlush about={<Whole result={result} />}>
          <Problem>{problem || fault}</Problem>
          {result && "parts" in result && <Parts parts={result.parts} />}
        </Section>
      </div>
      <Section
        title="Variables"
        about="The request that it is evaluated for, in the form of a trace."
      >
        <Captured />
        <textarea
          class="variables"
          aria-label="Variables (JSON)"
          value={variablesText.value}
          spellcheck={false}
          onInput={({ currentTarget }) => {
            variablesText.value = currentTarget.value;
          }}
        />
      </Section>
    </div>
  );
}

function Parts({ parts }: { readonly parts: readonly EvaluatedPart[] }) {
  return (
    <Table
      label="Parts of the expression"
      rows={parts}
      keyOf={(_, index) => index}
      columns={[
        [
          "Part",
          ({ text, depth }) => (
            <code
              class="part"
              style={{ paddingLeft: `${Math.min(depth, 5) * 1.25}rem` }}
            >
              {text}
            </code>
          ),
          "wide",
        ],
        ["Value", (part) => <Value part={part} />],
      ]}
    />
  );
}

/** Requests that were captured because they failed. */
function Captured() {
  const [chosen, choose] = useState("");
  const { data } = useFetched(`requests?status=failed&limit=${MAX_FAILURES}`);
  const failures = data?.requests ?? [];
  if (failures.length === 0) return null;
  const take = async (record: string) => {
    choose(record);
    if (record === "") return;
    const { events } = await getJson(
      `requests/${encodeURIComponent(record)}`,
    );
    // The latest state before the response knows the most.
    const state = events.map(({ message }) => message)
      .findLast((message) => message.type === "requestSnapshot")?.requestState;
    if (state !== undefined) tryOn(state);
  };
  return (
    <Choice
      label="Take the variables of a failed request"
      value={chosen}
      options={[
        { value: "", title: "–" },
        ...failures.map(({ record, method, path, status }) => ({
          value: record,
          title: `${method} ${path} → ${status}`,
        })),
      ]}
      onChange={(record) => void take(record)}
    />
  );
}

function Whole({ result }: { readonly result: PartsResult | undefined }) {
  if (result === undefined) return <Badge>evaluating…</Badge>;
  if ("fault" in result) return <Badge tone="bad">invalid</Badge>;
  const [whole] = result.parts;
  return (
    <span role="status">
      {whole && <Value part={whole} />}
      {result.isCut && " The first 200 parts."}
    </span>
  );
}

function Value({ part: { value, error } }: { readonly part: EvaluatedPart }) {
  if (error !== undefined) return <span class="part-error">{error}</span>;
  if (typeof value === "boolean") {
    return <Badge tone={value ? "good" : "quiet"}>{String(value)}</Badge>;
  }
  return <code class="break">{JSON.stringify(value)}</code>;
}

/** Evaluates after each pause in typing. */
function useResult() {
  const [result, setResult] = useState<PartsResult | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const [expression, variables] = [expressionText.value, variablesText.value];
  useEffect(() => {
    const leaving = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const given = parse(variables);
        const body = { expression, variables: given };
        setResult(await postJson("playground/evaluate", body, leaving.signal));
        setProblem("");
      } catch (error) {
        if (leaving.signal.aborted) return;
        setResult(undefined);
        setProblem(messageOf(error));
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [expression, variables]);
  return { result, problem };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`The variables are no JSON: ${messageOf(error)}`);
  }
}
