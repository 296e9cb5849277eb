/** Accounts that users have connected at services: list and revoke. */
import type { UiResponses } from "../../../responses.ts";
import { Time } from "../../kit/data.tsx";
import { useState } from "../../kit/framework.ts";
import { Button, RevokeButton } from "../../kit/inputs.tsx";
import {
  Badge,
  Empty,
  Message,
  Problem,
  Section,
  type Tone,
} from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { postJson } from "../../server/api.ts";
import { usePolled } from "../../server/poll.ts";
import { useRevocation } from "./revocation.ts";

type Account = UiResponses["connections"]["connections"][number];

const PAGE = 100;
const POLL_MS = 5000;

/** Properties of the sections of the page. */
export interface UserSectionProps {
  /** Only what this user has; all if it is empty. */
  readonly subject: string;
  readonly canRevoke: boolean;
}

/** The section of connected accounts. */
export function ConnectedAccounts({ subject, canRevoke }: UserSectionProps) {
  const [after, setAfter] = useState("");
  const query = new URLSearchParams({ limit: String(PAGE), after });
  if (subject !== "") query.set("subject", subject);
  const { data, error, refresh } = usePolled(`connections?${query}`, POLL_MS);
  const { problem, message, revoke } = useRevocation(refresh);
  const { connections, hasMore = false } = data.value ?? {};
  const end = (account: Account) =>
    revoke(async () => {
      const { isConfirmed } = await postJson("connections/revoke", {
        id: account.id,
      });
      const ended = `${nameOf(account)} is revoked`;
      return isConfirmed
        ? `${ended}, at the authorization server too.`
        : `${ended} at the gateway; the authorization server has not confirmed it.`;
    });
  return (
    <Section
      title="Connected accounts"
      about="Services that the gateway uses as its users, until they or you revoke it."
    >
      <Problem>{problem || error.value}</Problem>
      <Message>{message}</Message>
      {connections?.length === 0 && (
        <Empty title="No accounts">
          A user gets the link to connect one with the first request that needs
          it.
        </Empty>
      )}
      {connections !== undefined && connections.length > 0 && (
        <Table
          label="Connected accounts"
          rows={connections}
          keyOf={({ id }) => id}
          columns={columnsOf(canRevoke ? end : undefined)}
        />
      )}
      {(after !== "" || hasMore) && (
        <div class="row">
          <Button isDisabled={after === ""} onPress={() => setAfter("")}>
            First
          </Button>
          <Button
            isDisabled={!hasMore}
            onPress={() => setAfter(connections?.at(-1)?.id ?? "")}
          >
            Next {PAGE}
          </Button>
        </div>
      )}
    </Section>
  );
}

const tones: Readonly<Record<Account["state"], Tone>> = {
  active: "good",
  expired: "warn",
  sealed: "bad",
};

function nameOf({ id, backend, subject }: Account): string {
  return backend === undefined ? `Account ${id}` : `${backend} of ${subject}`;
}

function columnsOf(
  onEnd: ((account: Account) => void) | undefined,
): readonly Column<Account>[] {
  return [
    ["User", ({ subject, issuer }) => (
      <>
        {subject ?? "unknown: no key of the vault opens it"}
        <div class="quiet">{issuer}</div>
      </>
    )],
    ["Service", ({ backend, resource }) => (
      <>
        {backend ?? "–"}
        <div class="quiet">{resource}</div>
      </>
    ), "wide"],
    ["State", ({ state }) => <Badge tone={tones[state]}>{state}</Badge>],
    ["Scopes", ({ scopes }) => scopes?.join(" ") || "–"],
    ["Connected", ({ connectedAt }) => <Time at={connectedAt} />],
    [
      "Expires",
      ({ state, expiresAt }) =>
        expiresAt === undefined
          ? (state === "active" ? "when revoked" : "–")
          : <Time at={expiresAt} />,
    ],
    ["Actions", (account) =>
      onEnd && (
        <RevokeButton
          of={nameOf(account)}
          onRevoke={() => onEnd(account)}
        />
      )],
  ];
}
