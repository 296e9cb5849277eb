/** Forms that create keys and teams, and the key that was created. */
import type { ChangedKeyObject } from "../../../responses.ts";
import {
  EXPECTED_BUDGET,
  parseBudget,
} from "../../../../../src/api/budget_text.ts";
import { useState } from "../../kit/framework.ts";
import { Button, Choice, Field, Form } from "../../kit/inputs.tsx";
import { Problem } from "../../kit/layout.tsx";
import { postJson } from "../../server/api.ts";

/** Requests a change of the store. @param onDone Called once it is made. */
export type OnChange = (
  change: () => Promise<ChangedKeyObject>,
  onDone?: () => void,
) => void;

const lifetimes = [
  { value: "", title: "never" },
  { value: "30", title: "in 30 days" },
  { value: "90", title: "in 90 days" },
  { value: "365", title: "in a year" },
] as const;

interface CreateFormsProps {
  readonly teams: readonly string[];
  readonly onChange: OnChange;
}

/** Forms for a key and for a team; the next key is one of the team that was created last. */
export function CreateForms({ teams, onChange }: CreateFormsProps) {
  const [team, setTeam] = useState("");
  const isKnown = teams.includes(team);
  return (
    <>
      <CreateKey
        teams={teams}
        team={isKnown ? team : ""}
        onTeam={setTeam}
        onChange={onChange}
      />
      <CreateTeam onChange={onChange} onCreated={setTeam} />
    </>
  );
}

interface CreateKeyProps extends CreateFormsProps {
  readonly team: string;
  readonly onTeam: (team: string) => void;
}

function CreateKey({ teams, team, onTeam, onChange }: CreateKeyProps) {
  const [name, setName] = useState("");
  const [days, setDays] = useState<typeof lifetimes[number]["value"]>("");
  const create = () => {
    onChange(() =>
      postJson("access/create/key", {
        ...name !== "" && { name },
        ...team !== "" && { team },
        ...days !== "" && { expiresAt: afterDays(Number(days)) },
      })
    );
    setName("");
  };
  return (
    <Form label="Create a key" onSubmit={create}>
      <Field label="Name">
        <input
          name="name"
          maxLength={128}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </Field>
      <Choice
        label="Team"
        value={team}
        onChange={onTeam}
        options={["", ...teams].map((value) => ({
          value,
          title: value || "none",
        }))}
      />
      <Choice
        label="Expires"
        value={days}
        onChange={setDays}
        options={lifetimes}
      />
      <Button isMain>Create key</Button>
    </Form>
  );
}

interface CreateTeamProps {
  readonly onChange: OnChange;
  readonly onCreated: (team: string) => void;
}

function CreateTeam({ onChange, onCreated }: CreateTeamProps) {
  const [team, setTeam] = useState("");
  const [budget, setBudget] = useState("");
  const [problem, setProblem] = useState("");
  const create = () => {
    const parsed = parseBudget(budget.trim());
    if (budget.trim() !== "" && parsed === undefined) {
      return setProblem(
        `Invalid budget "${budget}": expected ${EXPECTED_BUDGET}`,
      );
    }
    setProblem("");
    onChange(() =>
      postJson("access/create/team", {
        id: team,
        ...parsed && { budgets: [parsed] },
      })
    );
    onCreated(team);
    setTeam("");
    setBudget("");
  };
  return (
    <>
      <Form label="Create a team" onSubmit={create}>
        <Field label="New team">
          <input
            name="team"
            required
            maxLength={63}
            placeholder="blue"
            value={team}
            onInput={({ currentTarget }) => setTeam(currentTarget.value)}
          />
        </Field>
        <Field label="Budget">
          <input
            name="budget"
            placeholder="none; 50usd/month"
            value={budget}
            onInput={({ currentTarget }) => setBudget(currentTarget.value)}
          />
        </Field>
        <Button>Create team</Button>
      </Form>
      <Problem>{problem}</Problem>
    </>
  );
}

interface NewKeyProps {
  readonly made: ChangedKeyObject;
  readonly onDismiss: () => void;
}

/** Shows a key, which only this response of the gateway has. */
export function NewKey(
  { made: { object, secret = "" }, onDismiss }: NewKeyProps,
) {
  return (
    <section class="panel" aria-label="New key">
      <p role="status">
        The key of {object.name ?? object.id}. Nobody can read it again:
      </p>
      <div class="row">
        <Field label="Key" isWide>
          <input
            readOnly
            value={secret}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
        </Field>
        <Button onPress={() => void navigator.clipboard?.writeText(secret)}>
          Copy
        </Button>
        <Button onPress={onDismiss}>Done</Button>
      </div>
    </section>
  );
}

function afterDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
