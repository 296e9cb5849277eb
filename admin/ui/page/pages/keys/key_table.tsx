/** Tables of keys and teams. */
import type { KeyObjectList } from "../../../responses.ts";
import { Time } from "../../kit/data.tsx";
import { Button, RevokeButton } from "../../kit/inputs.tsx";
import { Badge, type Tone } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { postJson } from "../../server/api.ts";
import { describeBudgets } from "./budgets.ts";
import type { OnChange } from "./key_forms.tsx";

/** A key or a team. */
export type ApiKey = KeyObjectList["objects"][number];

const tones: Readonly<Record<ApiKey["status"], Tone>> = {
  active: "good",
  suspended: "warn",
  revoked: "quiet",
  expired: "quiet",
};

interface TeamTableProps {
  readonly canChange: boolean;
  readonly teams: readonly ApiKey[];
  readonly onEdit: (object: ApiKey) => void;
}

/** A table of teams. */
export function TeamTable({ teams, canChange, onEdit }: TeamTableProps) {
  if (teams.length === 0) return null;
  return (
    <Table<ApiKey>
      label="Teams"
      rows={teams}
      keyOf={({ id }) => id}
      columns={[
        ["Team", ({ id }) => id, "wide"],
        [
          "Status",
          ({ status }) => <Badge tone={tones[status]}>{status}</Badge>,
        ],
        ["Budgets", ({ budgets }) => describeBudgets(budgets) || "–"],
        ["Self-service", ({ selfService }) => describeSelfService(selfService)],
        ["Actions", (team) =>
          canChange && (
            <Button
              class="small"
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

function describeSelfService(selfService: ApiKey["selfService"]): string {
  if (selfService === undefined) return "–";
  const { maxKeys, maxLifetime, budgets } = selfService;
  return [`${maxKeys} keys, ${maxLifetime}`, describeBudgets(budgets)]
    .filter((each) => each !== "").join(", ");
}

interface KeyTableProps {
  readonly canChange: boolean;
  readonly onEdit: (object: ApiKey) => void;
  readonly keys: readonly ApiKey[];
  readonly onChange: OnChange;
}

/** A table of keys, with what can be done with each. */
export function KeyTable({ keys, canChange, onChange, onEdit }: KeyTableProps) {
  const columns: readonly Column<ApiKey>[] = [
    ["Key", ({ id, name }) => (
      <>
        {name ?? id}
        {name !== undefined && <div class="quiet">{id}</div>}
      </>
    ), "wide"],
    ["Team", ({ team, user }) => (
      <>
        {team ?? "–"}
        {user !== undefined && <div class="quiet">{user}</div>}
      </>
    ), "name"],
    ["Begins with", ({ keys }) => `${keys?.at(-1)?.prefix ?? ""}…`],
    ["Status", ({ status }) => <Badge tone={tones[status]}>{status}</Badge>],
    [
      "Expires",
      ({ expiresAt }) =>
        expiresAt === undefined ? "never" : <Time at={expiresAt} />,
    ],
    ["Budgets", ({ budgets }) => describeBudgets(budgets) || "–"],
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
  readonly onChange: OnChange;
}

/** A key that is replaced stays valid for a day. */
function Actions({ object, onChange, onEdit }: ActionsProps) {
  const { id, status } = object;
  if (status === "revoked") return null;
  const act = (action: string, more = {}) =>
    onChange(() => postJson(`access/change/${id}`, { action, ...more }));
  const toggle = status === "suspended" ? "resume" : "suspend";
  return (
    <div class="row tight">
      <Button
        class="small"
        label={`Edit ${id}`}
        onPress={() => onEdit(object)}
      >
        Edit
      </Button>
      <Button
        class="small"
        label={`Rotate ${id}; the old key is valid for a day`}
        onPress={() => act("rotate", { overlap: "24h" })}
      >
        Rotate
      </Button>
      <Button
        class="small"
        label={`${toggle} ${id}`}
        onPress={() => act(toggle)}
      >
        {toggle === "resume" ? "Resume" : "Suspend"}
      </Button>
      <RevokeButton of={id} onRevoke={() => act("revoke")} />
    </div>
  );
}
