import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

const fields = ["at", "address", "access", "action", "status", "outcome"];

/** Prints the last administrative changes of a running gateway, newest first. */
export async function showAudit(
  { output, ...address }: TableOptions,
): Promise<void> {
  const audit = await readAdmin(address, "/audit", "changes");
  if (output !== "table") return await printAs(output, audit);
  const rows = listOf(audit, "changes").map((change) =>
    fields.map((name) => textOf(change, name))
  );
  const omitted = Number(fieldOf(audit, "omitted") ?? 0);
  await print(
    rows.length === 0
      ? "No changes since the gateway started\n"
      : tableOf([fields.map((name) => name.toUpperCase()), ...rows]) +
        (omitted > 0 ? `${omitted} older changes are not kept\n` : ""),
  );
}
