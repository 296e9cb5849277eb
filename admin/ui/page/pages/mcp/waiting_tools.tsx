/** Tools that wait for approval, each with what has changed. */
import {
  diffStates,
  linesOf,
} from "../../../../../src/telemetry/trace/reading/diff_states.ts";
import { useState } from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, Message, Problem, Section } from "../../kit/layout.tsx";
import { messageOf, postJson } from "../../server/api.ts";
import type { ListedServer, ListedTool } from "./listed_server.ts";

interface WaitingToolsProps {
  /** Key of the backend. */
  readonly backend: string;
  readonly listed: ListedServer;
  readonly canApprove: boolean;
  readonly onApproved: () => void;
}

/** A section with the tools that wait, and the buttons to approve them. */
export function WaitingTools(
  { backend, listed, canApprove, onApproved }: WaitingToolsProps,
) {
  const [problem, setProblem] = useState("");
  const [message, setMessage] = useState("");
  const [isSending, setSending] = useState(false);
  const waiting = listed.tools.filter(({ held }) => held !== undefined);
  const approve = async (tools: readonly ListedTool[]) => {
    setSending(true);
    setProblem("");
    setMessage("");
    try {
      const { approved } = await postJson("mcp/approve", {
        backend,
        server: listed.server,
        tools: tools.map(({ definition, digest }) => ({
          name: definition["name"],
          digest,
        })),
      });
      setMessage(`Approved: ${approved.join(", ")}`);
    } catch (error) {
      setProblem(messageOf(error));
    }
    setSending(false);
    onApproved();
  };
  if (waiting.length === 0 && message === "" && problem === "") return null;
  const isPossible = canApprove && listed.approval === "firstUse";
  return (
    <Section
      title="Waiting for approval"
      about={listed.approval === "file"
        ? "Clients neither see nor call these tools. The backend has a lock file: approve them with gwctl mcp lock --write."
        : "Clients neither see nor call these tools. Read what has changed before you approve it."}
      actions={isPossible && waiting.length > 1 && (
        <Button
          isDisabled={isSending}
          onPress={() => void approve(waiting)}
        >
          {`Approve all ${waiting.length}`}
        </Button>
      )}
    >
      <Problem>{problem}</Problem>
      <Message>{message}</Message>
      {waiting.map((tool) => (
        <WaitingTool
          key={tool.name}
          tool={tool}
          onApprove={isPossible && !isSending
            ? () => void approve([tool])
            : undefined}
        />
      ))}
    </Section>
  );
}

interface WaitingToolProps {
  readonly tool: ListedTool;
  readonly onApprove: (() => void) | undefined;
}

function WaitingTool({ tool, onApprove }: WaitingToolProps) {
  const { name, held, approved, definition } = tool;
  const before = held === "changed" ? approved : {};
  return (
    <article class="waiting" aria-label={name}>
      <div class="row">
        <h3>{name}</h3>
        <Badge tone="warn">{held}</Badge>
        {onApprove && (
          <Button label={`Approve ${name}`} onPress={onApprove}>Approve</Button>
        )}
      </div>
      <Suspicions tool={tool} />
      {before === undefined && (
        <p class="quiet">
          The approved definition was too long to keep: this is the new one.
        </p>
      )}
      <Difference before={before} after={definition} label={name} />
    </article>
  );
}

interface SuspicionsProps {
  readonly tool: ListedTool;
}

/** Lists what is suspicious about a tool. */
export function Suspicions({ tool: { suspicions = [] } }: SuspicionsProps) {
  if (suspicions.length === 0) return null;
  return (
    <ul class="suspicions" aria-label="Suspicious">
      {suspicions.map((each) => (
        <li key={each}>
          <Badge tone="warn">!</Badge> {each}
        </li>
      ))}
    </ul>
  );
}

interface DifferenceProps {
  readonly before: unknown;
  readonly after: unknown;
  readonly label: string;
}

/** Lines that were removed and added; signs say what colors say. */
function Difference({ before, after, label }: DifferenceProps) {
  const lines = diffStates(before ?? {}, after)
    .flatMap((change) => linesOf(change))
    .filter(({ text }) => text !== "- : {}");
  return (
    <pre
      class="difference"
      tabIndex={0}
      role="region"
      aria-label={`Changes of ${label}`}
    >
      {lines.map(({ kind, text }) => (
        <span key={`${kind} ${text}`} class={kind}>
          {visible(text)}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/** Characters that people do not see are shown by their numbers: they may be what has changed. */
function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
