/** Accounts of users at services, and the MCP clients that they have logged in. */
import { useState } from "../../kit/framework.ts";
import { Find } from "../../kit/inputs.tsx";
import { Empty, PageHead } from "../../kit/layout.tsx";
import type { PageProps } from "../../navigation/page.ts";
import { ClientLogins } from "./client_logins.tsx";
import { ConnectedAccounts } from "./connected_accounts.tsx";

/** The page of accounts and logins. */
export function Accounts({ status }: PageProps) {
  const [text, setText] = useState("");
  const subject = text.trim();
  const canRevoke = !status.readOnly;
  return (
    <>
      <PageHead
        title="Accounts"
        about="What the gateway may do for its users: the accounts that they have connected, and the clients that they have logged in."
      />
      <div class="row">
        <Find
          text={text}
          onFind={setText}
          placeholder="user: sub of the token"
        />
      </div>
      {status.hasConnections
        ? <ConnectedAccounts key={subject} {...{ subject, canRevoke }} />
        : (
          <Empty title="Users cannot connect accounts" isPanel>
            With{" "}
            <code>config.connections</code>, users log in at the services behind
            the gateway; their accounts appear here.
          </Empty>
        )}
      <ClientLogins {...{ subject, canRevoke }} />
    </>
  );
}
