/** Trials of a draft on the last requests. */
import type { UiResponses } from "../../../responses.ts";
import { Time } from "../../kit/data.tsx";
import { number, timeOfDay } from "../../kit/format.ts";
import { useLayoutEffect, useState } from "../../kit/framework.ts";
import { Badge, Message, Problem, type Tone } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { messageOf, postJson } from "../../server/api.ts";

type TrialReport = UiResponses["try"];
type TrialExample = TrialReport["examples"][number];

/** Requests that a draft is tried on. */
const LAST = 1000;

/** Tries a draft when asked to; forgets the result when the draft changes. */
export function useTrial(
  draft: Readonly<Record<"hash" | "name" | "text", string>>,
) {
  const [report, setReport] = useState<TrialReport | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const [isTrying, setTrying] = useState(false);
  useLayoutEffect(() => {
    setReport(undefined);
    setProblem("");
  }, [draft.hash, draft.name, draft.text]);
  const attempt = async () => {
    setTrying(true);
    try {
      setReport(await postJson("try", { draft, last: LAST }));
      setProblem("");
    } catch (error) {
      setProblem(messageOf(error));
    }
    setTrying(false);
  };
  return { report, problem, isTrying, attempt };
}

interface TrialProps {
  readonly trial: ReturnType<typeof useTrial>;
}

/** The result of a trial, or nothing before the first one. */
export function Trial({ trial: { report, problem, isTrying } }: TrialProps) {
  return (
    <>
      <Problem>{problem}</Problem>
      <Message>{isTrying ? "Trying…" : report && summaryOf(report)}</Message>
      {report !== undefined && report.examples.length > 0 && (
        <Table
          label="Requests that would change"
          columns={columns}
          rows={report.examples}
          keyOf={(_, index) => index}
        />
      )}
    </>
  );
}

function summaryOf({ requests, since, summary }: TrialReport): string {
  if (since === null) return "No requests are recorded yet.";
  const noun = requests === 1 ? "request" : "requests";
  const time = timeOfDay(new Date(since));
  return `Of ${number(requests)} ${noun} since ${time}: ${summary}.`;
}

const tones: Readonly<Record<TrialExample["change"], Tone>> = {
  denied: "bad",
  admitted: "good",
  rerouted: "info",
  undecided: "warn",
};

const columns: readonly Column<TrialExample>[] = [
  ["Time", ({ time }) => <Time at={time} isShort />],
  ["Change", ({ change }) => <Badge tone={tones[change]}>{change}</Badge>],
  ["Request", ({ method, path }) => `${method} ${path}`],
  ["Key", ({ key }) => key ?? "–"],
  ["Team", ({ team }) => team ?? "–"],
  ["Model", ({ model }) => model ?? "–"],
  ["Route", ({ route }) => route ?? "–"],
  ["Because", ({ because }) => because ?? "–", "wide"],
];
