/** API keys in the store: list, create, rotate, suspend and revoke. */
import type { ChangedKeyObject, KeyObjectList } from "../../../responses.ts";
import { type Column, Table, Time } from "../../kit/data.tsx";
import { useState } from "../../kit/framework.ts";
import { Button, Choice, Field, Form } from "../../kit/inputs.tsx";
import {
  Badge,
  Empty,
  Problem,
  Section,
  type Tone,
} from "../../kit/layout.tsx";
import { messageOf, postJson } from "../../server/api.ts";
import { usePolled } from "../../server/poll.ts";
import { AccessForm, budgetsOf } from "./access_form.tsx";

type ApiKey = KeyObjectList["objects"][number];

/** A change of the store that the page requests. */
type Change = () => Promise<ChangedKeyObject>;

const tones: Readonly<Record<ApiKey["status"], Tone>> = {
  active: "good",
  suspended: "warn",
  revoked: "quiet",
  expired: "quiet",
};

/** The section of API keys. @param canChange Without it, keys and teams are only shown. */
export function ApiKeys({ canChange }: { readonly canChange: boolean }) {
  const keys = usePolled("access/keys?limit=1000", 3000);
  const teams = usePolled("access/teams?limit=1000", 3000);
  const [problem, setProblem] = useState("");
  const [made, setMade] = useState<ChangedKeyObject>();
  const [edited, setEdited] = useState<ApiKey>();
  const change = async (request: Change) => {
    try {
      const changed = await request();
      if (changed.secret !== undefined) setMade(changed);
      setProblem("");
    } catch (error) {
      setProblem(messageOf(error));
    }
    keys.refresh();
    teams.refresh();
  };
  const { objects, hasMore } = keys.data.value ?? {};
  const teamIds = (teams.data.value?.objects ?? [])
    .filter(({ status }) => status !== "revoked").map(({ id }) => id);
  return (
    <Section
      title="API keys"
      about="In force in all processes within a second, on routes with apiKeyAuthentication: { stored: true }."
    >
      <Problem>{problem || keys.error.value}</Problem>
      {objects && canChange && (
        <CreateForms
          teams={teamIds}
          onChange={(each) => void change(each)}
        />
      )}
      {made && <NewKey made={made} onDismiss={() => setMade(undefined)} />}
      {objects?.length === 0 && (
        <Empty title="No keys">Create one here, or with gwctl keys.</Empty>
      )}
      {objects !== undefined && objects.length > 0 && (
        <KeyTable
          keys={objects}
          canChange={canChange}
          onEdit={setEdited}
          onChange={(each) => void change(each)}
        />
      )}
      {teams.data.value && (
        <TeamTable
          teams={teams.data.value.objects}
          canChange={canChange}
          onEdit={setEdited}
        />
      )}
      {edited && (
        <AccessForm
          key={edited.id}
          object={edited}
          onChange={(each) => void change(each)}
          onClose={() => setEdited(undefined)}
        />
      )}
      {hasMore && (
        <p class="quiet">The first 1,000 keys; gwctl keys list has more.</p>
      )}
    </Section>
  );
}

/** Stands in for the section where there is no store. */
export function NoStore() {
  return (
    <Empty title="No store for API keys" isPanel>
      With{" "}
      <code>config.kv</code>, keys and teams are made, rotated and revoked here.
      Others are in the configuration.
    </Empty>
  );
}

const lifetimes = [
  { value: "", title: "never" },
  { value: "30", title: "in 30 days" },
  { value: "90", title: "in 90 days" },
  { value: "365", title: "in a year" },
] as const;

interface CreateFormsProps {
  readonly teams: readonly string[];
  readonly onChange: (change: Change) => void;
}

function CreateForms(props: CreateFormsProps) {
  return (
    <>
      <CreateKey {...props} />
      <CreateTeam {...props} />
    </>
  );
}

function CreateKey({ teams, onChange }: CreateFormsProps) {
  const [name, setName] = useState("");
  const [team, setTeam] = useState("");
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
        onChange={setTeam}
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

function CreateTeam({ onChange }: Pick<CreateFormsProps, "onChange">) {
  const [newTeam, setNewTeam] = useState("");
  const createTeam = () => {
    onChange(() => postJson("access/create/team", { id: newTeam }));
    setNewTeam("");
  };
  return (
    <Form label="Create a team" onSubmit={createTeam}>
      <Field label="New team">
        <input
          name="team"
          required
          maxLength={63}
          placeholder="blue"
          value={newTeam}
          onInput={({ currentTarget }) => setNewTeam(currentTarget.value)}
        />
      </Field>
      <Button>Create team</Button>
    </Form>
  );
}

interface NewKeyProps {
  readonly made: ChangedKeyObject;
  readonly onDismiss: () => void;
}

/** Shows a key, which only this response of the gateway has. */
function NewKey({ made: { object, secret = "" }, onDismiss }: NewKeyProps) {
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

interface TeamTableProps {
  readonly canChange: boolean;
  readonly teams: readonly ApiKey[];
  readonly onEdit: (object: ApiKey) => void;
}

function TeamTable({ teams, canChange, onEdit }: TeamTableProps) {
  if (teams.length === 0) return null;
  return (
    <Table<ApiKey>
      label="Teams"
      rows={teams}
      keyOf={({ id }) => id}
      columns={[
        ["Team", ({ id }) => id],
        [
          "Status",
          ({ status }) => <Badge tone={tones[status]}>{status}</Badge>,
        ],
        ["Budgets", (team) => budgetsOf(team) || "–"],
        ["Actions", (team) =>
          canChange && (
            <Button
              label={`Edit ${team.id}`}
              onPress={() => onEdit(team)}
            >
              Edit
            </Button>
          )],
      ]}
    />
  );
}

interface KeyTableProps {
  readonly canChange: boolean;
  readonly onEdit: (object: ApiKey) => void;
  readonly keys: readonly ApiKey[];
  readonly onChange: (change: Change) => void;
}

function KeyTable({ keys, canChange, onChange, onEdit }: KeyTableProps) {
  const columns: readonly Column<ApiKey>[] = [
    ["ID", ({ id }) => id],
    ["Name", ({ name }) => name ?? "–"],
    ["Team", ({ team }) => team ?? "–"],
    ["User", ({ user }) => user ?? "–"],
    ["Key", ({ keys }) => `${keys?.at(-1)?.prefix ?? ""}…`],
    ["Status", ({ status }) => <Badge tone={tones[status]}>{status}</Badge>],
    [
      "Expires",
      ({ expiresAt }) =>
        expiresAt === undefined ? "never" : <Time at={expiresAt} />,
    ],
    ["Budgets", (each) => budgetsOf(each) || "–"],
    [
      "Actions",
      (each) =>
        canChange && (
          <Actions object={each} onChange={onChange} onEdit={onEdit} />
        ),
    ],
  ];
  return (
    <Table
      label="API keys"
      columns={columns}
      rows={keys}
      keyOf={({ id }) => id}
    />
  );
}

interface ActionsProps {
  readonly onEdit: (object: ApiKey) => void;
  readonly object: ApiKey;
  readonly onChange: (change: Change) => void;
}

/** A key that is replaced stays valid for a day; revoking one needs a second press. */
function Actions({ object, onChange, onEdit }: ActionsProps) {
  const { id, status } = object;
  const [isSure, setSure] = useState(false);
  if (status === "revoked") return null;
  const act = (action: string, more = {}) =>
    onChange(() => postJson(`access/change/${id}`, { action, ...more }));
  const toggle = status === "suspended" ? "resume" : "suspend";
  return (
    <div class="row">
      <Button label={`Edit ${id}`} onPress={() => onEdit(object)}>Edit</Button>
      <Button
        label={`Rotate ${id}; the old key is valid for a day`}
        onPress={() => act("rotate", { overlap: "24h" })}
      >
        Rotate
      </Button>
      <Button label={`${toggle} ${id}`} onPress={() => act(toggle)}>
        {toggle === "resume" ? "Resume" : "Suspend"}
      </Button>
      <Button
        label={isSure ? `Revoke ${id} for good` : `Revoke ${id}`}
        onPress={() => isSure ? act("revoke") : setSure(true)}
      >
        {isSure ? "Revoke for good?" : "Revoke"}
      </Button>
    </div>
  );
}

function afterDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString();
}
