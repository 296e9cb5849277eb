/** The configurations that were in force, and the way back to one. */
import type { UiResponses } from "../../../responses.ts";
import { Time } from "../../kit/data.tsx";
import { useState } from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, Message, Problem, Section } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { messageOf, postJson } from "../../server/api.ts";
import { useFetched } from "../../server/poll.ts";
import { ChangesOfFiles, ChangesToPast } from "./changes.tsx";

type Past = UiResponses["source/history"][number];

interface HistoryProps {
  /** Hash of the configuration in force. */
  readonly hash: string;
  readonly canApply: boolean;
}

/** A table of the configurations since the start; one can be compared, and put in force again. */
export function History({ hash, canApply }: HistoryProps) {
  const { data: all = [], problem } = useFetched("source/history", hash);
  const [chosen, setChosen] = useState("");
  const [isCompared, setCompared] = useState(false);
  const { message, failure, goBack } = useGoBack(hash);
  const past = all.find((each) => each.hash === chosen && chosen !== hash);
  return (
    <Section
      title="History"
      isFlush
      about="Configurations since the gateway started, the newest first."
      actions={
        <Button
          isPressed={isCompared}
          onPress={() => setCompared(!isCompared)}
        >
          Compare with the files
        </Button>
      }
    >
      <Problem>{problem}</Problem>
      <Table
        label="Configurations"
        columns={columnsOf(hash, chosen, setChosen)}
        rows={all}
        keyOf={(each) => each.hash}
      />
      <div class="panel-foot stack">
        {isCompared && (
          <>
            <p>The files as they are now change:</p>
            <ChangesOfFiles hash={hash} />
          </>
        )}
        {past && (
          <WayBack
            to={past.hash}
            hash={hash}
            onPress={canApply ? goBack : undefined}
          />
        )}
        <Message>{message}</Message>
        <Problem>{failure}</Problem>
      </div>
    </Section>
  );
}

function columnsOf(
  hash: string,
  chosen: string,
  choose: (hash: string) => void,
): readonly Column<Past>[] {
  return [
    ["Applied", ({ appliedAt }) => <Time at={appliedAt} />],
    ["Configuration", (each) => <code>{each.hash.slice(0, 12)}</code>],
    ["Files", ({ files }) => files.join(", "), "wide"],
    [
      "State",
      (each) =>
        each.hash === hash ? <Badge tone="good">in force</Badge> : (
          <Button
            isPressed={each.hash === chosen}
            onPress={() => choose(each.hash === chosen ? "" : each.hash)}
          >
            Compare
          </Button>
        ),
    ],
  ];
}

interface WayBackProps {
  readonly to: string;
  readonly hash: string;
  /** Absent where nobody may apply it. */
  readonly onPress: ((to: string) => Promise<void>) | undefined;
}

function WayBack({ to, hash, onPress }: WayBackProps) {
  return (
    <>
      <p>Going back changes:</p>
      <ChangesToPast to={to} hash={hash} />
      {onPress && (
        <Button isMain onPress={() => void onPress(to)}>
          Go back to {to.slice(0, 12)}
        </Button>
      )}
    </>
  );
}

function useGoBack(hash: string) {
  const [message, setMessage] = useState("");
  const [failure, setFailure] = useState("");
  const goBack = async (to: string) => {
    setMessage("Applying…");
    setFailure("");
    try {
      const { problem, diagnostics } = await postJson("source/history/apply", {
        to,
        hash,
      });
      const [first] = diagnostics;
      setFailure(problem ?? first?.message ?? "");
      const isDone = problem === undefined && first === undefined;
      setMessage(isDone ? "It is in force again." : "");
    } catch (error) {
      setMessage("");
      setFailure(messageOf(error));
    }
  };
  return { message, failure, goBack };
}
