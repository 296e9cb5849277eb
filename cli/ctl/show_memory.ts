import { readAdmin } from "../client/admin_client.ts";
import { print } from "../output/output.ts";
import { printable } from "../output/printable.ts";
import { fieldOf, listOf, textOf } from "../output/json_fields.ts";
import { printAs, type TableOptions } from "../output/print_as.ts";
import { tableOf } from "../output/table.ts";

/** Prints the memory of a running gateway and the occupancy of its stores. */
export async function showMemory(
  { output, ...address }: TableOptions,
): Promise<void> {
  const memory = await readAdmin(address, "/memory", "process");
  if (output !== "table") return await printAs(output, memory);
  const amounts = ["process", "heap", "smaps", "cgroup"].flatMap((part) =>
    amountsOf(part, fieldOf(memory, part))
  );
  const workers = listOf(memory, "workers").flatMap((worker) =>
    amountsOf(`worker ${textOf(worker, "worker")}`, worker)
  );
  const stores = listOf(memory, "stores").map((store) =>
    ["name", "scope", "used", "capacity", "unit"].map((field) =>
      textOf(store, field)
    )
  );
  await print(
    tableOf([["PART", "MEMORY", "SIZE"], ...amounts, ...workers]) + "\n" +
      tableOf([["STORE", "SCOPE", "USED", "OF", "UNIT"], ...stores]),
  );
}

/** Lists the members of an object that are numbers of bytes. */
function amountsOf(part: string, amounts: unknown): string[][] {
  return Object.entries(amounts ?? {})
    .filter(([name, value]) =>
      name.endsWith("Bytes") && typeof value === "number"
    )
    .map(([name, value]) => [
      part,
      printable(name.slice(0, -"Bytes".length)),
      `${(Number(value) / (1 << 20)).toFixed(1)} MiB`,
    ]);
}
