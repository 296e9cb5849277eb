import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { fieldOf, listOf } from "./json_fields.ts";
import { printAs, type TableOptions } from "./print_as.ts";
import { tableOf } from "./table.ts";

/** Prints the backends of a running gateway with their connections. */
export async function showBackends(
  { output, ...address }: TableOptions,
): Promise<void> {
  const dump = await readAdmin(address, "/config_dump", "backends");
  const backends = listOf(dump, "backends");
  if (output !== "table") return await printAs(output, backends);
  const tasks = await readAdmin(address, "/debug/tasks?limit=1", "upstreams");
  const upstreams = listOf(tasks, "upstreams");
  const rows = backends.map((backend) => {
    const endpoint = String(fieldOf(backend, "target"));
    const upstream = upstreams.find((each) =>
      // Without the brackets of an IPv6 address.
      fieldOf(each, "endpoint") === endpoint.replace(/[[\]]/g, "")
    );
    return [
      fieldOf(backend, "key") ?? fieldOf(backend, "name"),
      endpoint,
      ...["active", "idle", "waiting"].map((name) =>
        fieldOf(upstream, name) ?? 0
      ),
    ].map((value) => printable(String(value)));
  });
  await print(
    rows.length === 0 ? "No backends\n" : tableOf([
      ["BACKEND", "ENDPOINT", "ACTIVE", "IDLE", "WAITING"],
      ...rows,
    ]),
  );
}
