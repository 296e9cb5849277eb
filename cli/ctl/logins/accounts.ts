import { requestJson } from "../../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../../output/json_fields.ts";
import { print, printError } from "../../output/output.ts";
import { printAs, type TableOptions } from "../../output/print_as.ts";
import { tableOfJson } from "../../output/table.ts";

/** Revocation at an authorization server takes so much longer than other requests. */
const REVOKE_MS = 20_000;

/** Options of `accounts list`. */
export interface AccountOptions extends TableOptions {
  readonly backend?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly after?: string;
  readonly limit: number;
}

/** Lists the accounts that users have connected. */
export async function listAccounts(
  { backend, issuer, subject, after, limit, ...options }: AccountOptions,
): Promise<void> {
  const query = new URLSearchParams({
    ...backend !== undefined && { backend },
    ...issuer !== undefined && { issuer },
    ...subject !== undefined && { subject },
    ...after !== undefined && { after },
    limit: String(limit),
  });
  const pathAndQuery = `/connections?${query}`;
  const found = await requestJson(options, { pathAndQuery }, "connections");
  const connections = listOf(found, "connections");
  if (options.output !== "table") {
    return await printAs(options.output, connections);
  }
  await print(tableOf(connections));
  if (connections.some((each) => fieldOf(each, "state") === "sealed")) {
    await printError(
      "sealed: cannot be opened, since no key of the vault fits, or the record is damaged\n",
    );
  }
  if (fieldOf(found, "hasMore") === true) {
    await printError(
      `There are more: --after ${textOf(connections.at(-1), "id")}\n`,
    );
  }
}

/** Ends the connection of a user to an account. */
export async function revokeAccount(
  id: string,
  options: TableOptions,
): Promise<void> {
  const answer = await requestJson(options, {
    method: "POST",
    pathAndQuery: "/connections/revoke",
    body: { id },
    extraMs: REVOKE_MS,
  }, "id");
  if (options.output !== "table") return await printAs(options.output, answer);
  await printError(
    fieldOf(answer, "isConfirmed") === true
      ? "revoked, at the authorization server too\n"
      : "revoked at the gateway; the authorization server has not confirmed it\n",
  );
}

function tableOf(connections: readonly unknown[]): string {
  if (connections.length === 0) return "No accounts\n";
  return tableOfJson(
    [
      ["ID", "id"],
      ["BACKEND", "backend"],
      ["STATE", "state"],
      ["SUBJECT", "subject"],
      ["ISSUER", "issuer"],
      ["SERVER", "server"],
      ["SCOPES", (each) => listOf(each, "scopes").join(" ") || undefined],
      ["CONNECTED", (each) => textOf(each, "connectedAt").slice(0, 10)],
    ],
    connections,
    "-",
  );
}
