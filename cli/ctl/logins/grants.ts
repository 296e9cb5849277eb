import { UsageError } from "../../process/exit.ts";
import { requestJson } from "../../client/admin_client.ts";
import { fieldOf, listOf, textOf } from "../../output/json_fields.ts";
import { print, printError } from "../../output/output.ts";
import { printAs, type TableOptions } from "../../output/print_as.ts";
import { tableOfJson } from "../../output/table.ts";

/** Grants to list or revoke; options that are not set select all. */
export interface GrantOptions extends TableOptions {
  readonly user?: string;
  readonly issuer?: string;
  readonly client?: string;
  readonly resource?: string;
}

/** Lists the MCP clients that users have logged in. */
export async function listGrants(
  { limit, ...options }: GrantOptions & { readonly limit: number },
): Promise<void> {
  const query = new URLSearchParams({
    ...selectionOf(options),
    limit: String(limit),
  });
  const found = await requestJson(options, {
    pathAndQuery: `/grants?${query}`,
  }, "grants");
  const grants = listOf(found, "grants");
  if (options.output !== "table") {
    return await printAs(options.output, grants);
  }
  await print(tableOf(grants));
  if (fieldOf(found, "hasMore") === true) {
    await printError("There are more: raise --limit, or select some\n");
  }
}

/** Ends grants: that with an ID, or those that the options select. */
export async function revokeGrants(
  id: string | undefined,
  options: GrantOptions,
): Promise<void> {
  const body = { ...(id !== undefined && { id }), ...selectionOf(options) };
  if (Object.keys(body).length === 0) {
    throw new UsageError(
      "expected the ID of a grant, or --user, --client, --issuer or --resource",
    );
  }
  const answer = await requestJson(options, {
    method: "POST",
    pathAndQuery: "/grants/revoke",
    body,
  }, "revoked");
  if (options.output !== "table") return await printAs(options.output, answer);
  await printError(`revoked: ${textOf(answer, "revoked")}\n`);
}

function selectionOf(
  { user: subject, issuer, client, resource }: GrantOptions,
): Record<string, string> {
  return {
    ...subject !== undefined && { subject },
    ...issuer !== undefined && { issuer },
    ...client !== undefined && { client },
    ...resource !== undefined && { resource },
  };
}

function tableOf(grants: readonly unknown[]): string {
  if (grants.length === 0) return "No grants\n";
  return tableOfJson(
    [
      ["ID", "id"],
      ["SUBJECT", "subject"],
      ["CLIENT", (each) => textOf(each, "client") || undefined],
      ["RESOURCE", "resource"],
      ["ISSUER", "issuer"],
      ["SCOPES", (each) => listOf(each, "scopes").join(" ") || undefined],
      ["STARTED", (each) => textOf(each, "startedAt").slice(0, 10)],
      ["USED", (each) => textOf(each, "usedAt").slice(0, 16)],
    ],
    grants,
    "-",
  );
}
