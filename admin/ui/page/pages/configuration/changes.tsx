/** The changes that a draft or an earlier configuration makes, by the names of routes, backends and policies. */
import type { UiResponses } from "../../../responses.ts";
import { Message, Problem } from "../../kit/layout.tsx";
import { getJson, postJson } from "../../server/api.ts";
import { useLoaded } from "../../server/poll.ts";

type DraftChanges = UiResponses["source/compare"];

interface DraftChangesProps {
  readonly draft: Readonly<Record<"hash" | "name" | "text", string>>;
}

/** The changes that a draft makes to the configuration in force. */
export function ChangesOfDraft({ draft }: DraftChangesProps) {
  const { data, problem } = useLoaded(
    `${draft.hash} ${draft.name} ${draft.text}`,
    (signal) => postJson("source/compare", draft, signal),
  );
  return <Changes found={data} problem={problem} />;
}

interface PastChangesProps {
  /** Hash of the configuration to go back to. */
  readonly to: string;
  /** Hash of the one in force. */
  readonly hash: string;
}

/** The changes that going back makes to the configuration in force. */
export function ChangesToPast({ to, hash }: PastChangesProps) {
  const { data, problem } = useLoaded(
    `${hash} ${to}`,
    (signal) => postJson("source/history/compare", { to }, signal),
  );
  return <Changes found={data} problem={problem} />;
}

/** The changes that the files as they are now make to the configuration in force. @param hash Of that one. */
export function ChangesOfFiles({ hash }: { readonly hash: string }) {
  const { data, problem } = useLoaded(
    hash,
    (signal) => getJson("source/files/compare", signal),
  );
  return (
    <Changes
      found={data}
      problem={problem}
      same="The files are in force as they are."
    />
  );
}

interface ChangesProps {
  readonly found: DraftChanges | undefined;
  readonly problem: string;
  /** Says that nothing changes. */
  readonly same?: string;
}

function Changes(
  { found, problem, same = "Nothing changes but the text." }: ChangesProps,
) {
  if (found === undefined) {
    return problem === ""
      ? <Message>Comparing…</Message>
      : <Problem>{problem}</Problem>;
  }
  if (found.problem !== undefined) {
    return <p class="quiet">Not compared: {found.problem}.</p>;
  }
  if (found.changes.length === 0) {
    return <p class="quiet">{same}</p>;
  }
  return (
    <ul class="changes" aria-label="What changes">
      {found.changes.map((line, index) => (
        <li key={index} class={classOf(line)}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}

function classOf(line: string): string {
  const sign = line.trimStart()[0];
  return sign === "+" ? "added" : sign === "-" ? "removed" : "";
}
