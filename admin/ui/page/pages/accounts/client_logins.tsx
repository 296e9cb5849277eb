/** MCP clients that users have logged in: list and revoke. */
import type { UiResponses } from "../../../responses.ts";
import { Time } from "../../kit/data.tsx";
import { RevokeButton } from "../../kit/inputs.tsx";
import { Empty, Message, Problem, Section } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { postJson } from "../../server/api.ts";
import { usePolled } from "../../server/poll.ts";
import type { UserSectionProps } from "./connected_accounts.tsx";
import { useRevocation } from "./revocation.ts";

type Login = UiResponses["grants"]["grants"][number];

const MAX_SHOWN = 100;
const POLL_MS = 5000;

/** The section of clients that users have logged in. */
export function ClientLogins({ subject, canRevoke }: UserSectionProps) {
  const query = new URLSearchParams({ limit: String(MAX_SHOWN) });
  if (subject !== "") query.set("subject", subject);
  const { data, error, refresh } = usePolled(`grants?${query}`, POLL_MS);
  const { problem, message, revoke } = useRevocation(refresh);
  const { grants, hasMore } = data.value ?? {};
  const end = ({ id, client, subject }: Login) =>
    revoke(async () => {
      await postJson("grants/revoke", { id });
      return `${client} of ${subject} is logged out.`;
    });
  return (
    <Section
      title="Logins"
      about="Clients with tokens of the gateway (issuerMode: Proxied). One that is not used for 90 days ends."
    >
      <Problem>{problem || error.value}</Problem>
      <Message>{message}</Message>
      {grants?.length === 0 && (
        <Empty title="No logins">
          A client appears here when a user has logged in with it.
        </Empty>
      )}
      {grants !== undefined && grants.length > 0 && (
        <Table
          label="Logins"
          rows={grants.toReversed()}
          keyOf={({ id }) => id}
          columns={columnsOf(canRevoke ? end : undefined)}
        />
      )}
      {hasMore && (
        <p class="quiet">
          The newest {MAX_SHOWN} logins; find a user to see the others.
        </p>
      )}
    </Section>
  );
}

function columnsOf(
  onEnd: ((login: Login) => void) | undefined,
): readonly Column<Login>[] {
  return [
    ["User", ({ subject, issuer }) => (
      <>
        {subject}
        <div class="quiet">{issuer}</div>
      </>
    )],
    ["Client", ({ client }) => client],
    ["MCP server", ({ resource }) => resource, "wide"],
    ["Scopes", ({ scopes }) => scopes.join(" ") || "–"],
    ["Since", ({ startedAt }) => <Time at={startedAt} />],
    ["Last token", ({ usedAt }) => <Time at={usedAt} />],
    ["Actions", (login) =>
      onEnd && (
        <RevokeButton
          of={`${login.client} of ${login.subject}`}
          onRevoke={() => onEnd(login)}
        />
      )],
  ];
}
