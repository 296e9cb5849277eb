/** API keys in the store: list, create, rotate, suspend and revoke. */
import type { ChangedKeyObject, KeyObjectList } from "../../../responses.ts";
import { useRef, useState } from "../../kit/framework.ts";
import { Button, Find } from "../../kit/inputs.tsx";
import { Empty, Problem, Section } from "../../kit/layout.tsx";
import { messageOf } from "../../server/api.ts";
import { usePolled } from "../../server/poll.ts";
import { AccessForm } from "./access_form.tsx";
import { CreateForms, NewKey, type OnChange } from "./key_forms.tsx";
import { type ApiKey, KeyTable, TeamTable } from "./key_table.tsx";

/** Keys and teams of a page; there may be 100,000. */
const PAGE = 100;
const MAX_TEAMS = 1000;
const POLL_MS = 5000;

/** The section of API keys. @param canChange Without it, keys and teams are only shown. */
export function ApiKeys({ canChange }: { readonly canChange: boolean }) {
  const [text, setText] = useState("");
  const [after, setAfter] = useState("");
  const { keys, teams, shownKeys } = useLists(text, after);
  const [edited, setEdited] = useState<ApiKey>();
  const { problem, made, dismiss, onChange } = useChanges(() => {
    keys.refresh();
    teams.refresh();
  });
  const { objects, hasMore = false } = shownKeys ?? {};
  const shownTeams = teams.data.value?.objects ?? [];
  return (
    <Section
      title="API keys"
      about="In force in all processes within a second, on routes with apiKeyAuthentication: { stored: true }."
    >
      <Problem>{problem || keys.error.value}</Problem>
      {objects && canChange && (
        <CreateForms teams={idsOf(shownTeams)} onChange={onChange} />
      )}
      {made && <NewKey made={made} onDismiss={dismiss} />}
      {edited && (
        <AccessForm
          key={edited.id}
          object={edited}
          onChange={onChange}
          onClose={() => setEdited(undefined)}
        />
      )}
      <Pages
        text={text}
        onFind={(text) => {
          setText(text);
          setAfter("");
        }}
        isFirst={after === ""}
        onFirst={() => setAfter("")}
        onNext={hasMore ? () => setAfter(objects?.at(-1)?.id ?? "") : undefined}
      />
      {objects?.length === 0 && <NoKeys text={text} />}
      {objects !== undefined && objects.length > 0 && (
        <KeyTable
          keys={objects}
          canChange={canChange}
          onEdit={setEdited}
          onChange={onChange}
        />
      )}
      {teams.data.value && (
        <TeamTable
          teams={shownTeams}
          canChange={canChange}
          onEdit={setEdited}
        />
      )}
      {teams.data.value?.hasMore && <MoreTeams />}
    </Section>
  );
}

/** Reads the keys of a page, and the teams. */
function useLists(text: string, after: string) {
  const query = new URLSearchParams({ limit: String(PAGE), text, after });
  const keys = usePolled(`access/keys?${query}`, POLL_MS);
  const teams = usePolled(`access/teams?limit=${MAX_TEAMS}`, POLL_MS);
  // Another selection keeps the last list on the page until the next has arrived.
  const last = useRef<KeyObjectList>(undefined);
  last.current = keys.data.value ?? last.current;
  return { keys, teams, shownKeys: last.current };
}

function MoreTeams() {
  return (
    <p class="quiet">
      The first {MAX_TEAMS} teams; <code>gwctl teams list</code> has more.
    </p>
  );
}

/** Sends changes. @param refresh Reads the lists again, so that changes of this page show at once. */
function useChanges(refresh: () => void) {
  const [problem, setProblem] = useState("");
  const [made, setMade] = useState<ChangedKeyObject>();
  const attempt = async (request: Parameters<OnChange>[0]) => {
    try {
      const changed = await request();
      if (changed.secret !== undefined) setMade(changed);
      return "";
    } catch (error) {
      return messageOf(error);
    }
  };
  const onChange: OnChange = (request, onDone) => {
    void attempt(request).then((problem) => {
      setProblem(problem);
      refresh();
      if (problem === "") onDone?.();
    });
  };
  return { problem, made, dismiss: () => setMade(undefined), onChange };
}

function idsOf(teams: readonly ApiKey[]): readonly string[] {
  return teams.filter(({ status }) => status !== "revoked")
    .map(({ id }) => id);
}

interface PagesProps {
  readonly text: string;
  readonly onFind: (text: string) => void;
  readonly isFirst: boolean;
  readonly onFirst: () => void;
  /** Set if there are more. */
  readonly onNext: (() => void) | undefined;
}

function Pages({ text, onFind, isFirst, onFirst, onNext }: PagesProps) {
  const isWhole = isFirst && onNext === undefined;
  return (
    <div class="row">
      <Find text={text} onFind={onFind} placeholder="key, team, user" />
      {!isWhole && (
        <>
          <Button isDisabled={isFirst} onPress={onFirst}>First</Button>
          <Button
            isDisabled={onNext === undefined}
            onPress={onNext ?? (() => {})}
          >
            Next {PAGE}
          </Button>
        </>
      )}
    </div>
  );
}

function NoKeys({ text }: { readonly text: string }) {
  return text === ""
    ? (
      <Empty title="No keys">
        Create one above, or with <code>gwctl keys create</code>.
      </Empty>
    )
    : (
      <Empty title="No such key">
        Neither an ID, name, team or user, nor the beginning of a key contains
        this.
      </Empty>
    );
}

/** Stands in for the section where there is no store. */
export function NoStore() {
  return (
    <Empty title="No store for API keys" isPanel>
      With{" "}
      <code>config.kv</code>, keys and teams are made, rotated and revoked here.
      Keys of the configuration are valid without it.
    </Empty>
  );
}
