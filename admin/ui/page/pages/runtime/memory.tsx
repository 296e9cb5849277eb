/** Memory of the process, and what the bounded stores keep. */
import type {
  BoundedStore,
  HeapSize,
} from "../../../../../src/dataplane/calls/descriptions.ts";
import type { UiResponses } from "../../../responses.ts";
import { Meter, Stats } from "../../kit/data.tsx";
import { bytes, compact, number, percent } from "../../kit/format.ts";
import { PageHead, Problem, Section } from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { usePolled } from "../../server/poll.ts";

/** The page of memory. */
export function Memory() {
  const { data, error } = usePolled("memory", 3000);
  return (
    <>
      <PageHead
        title="Memory"
        about="The process, the heap of each thread, and the stores, all of which are bounded."
      />
      <Problem>{error}</Problem>
      {data.value && <Report memory={data.value} />}
    </>
  );
}

function Report({ memory }: { readonly memory: UiResponses["memory"] }) {
  const { process, heap, workers, stores, omittedStores = 0 } = memory;
  const threads = [
    { name: "main", ...heap },
    ...workers.map(({ worker, ...rest }) => ({
      name: `worker ${worker}`,
      ...rest,
    })),
  ];
  return (
    <>
      <Stats
        figures={[
          [
            "Resident",
            bytes(process.residentBytes),
            process.limitBytes === null
              ? "no limit is set"
              : `of ${bytes(process.limitBytes)}`,
          ],
          ["Peak", bytes(process.peakResidentBytes), "resident"],
          ["Heap", bytes(heap.usedBytes), "used by the main thread"],
          ["Buffers", bytes(heap.externalBytes), "outside of the heap"],
        ]}
      />
      <Section
        title="Stores"
        about={`At its capacity, a store forgets what was unused for longest.${
          omittedStores > 0
            ? ` ${number(omittedStores)} emptier ones are left out.`
            : ""
        }`}
        isFlush
      >
        <Table
          label="Stores"
          rows={stores}
          keyOf={({ name, scope = "" }) => `${name} ${scope}`}
          columns={storeColumns}
        />
      </Section>
      <Section title="Heaps" isFlush>
        <Table
          label="Heaps"
          rows={threads}
          keyOf={({ name }) => name}
          columns={threadColumns}
        />
      </Section>
    </>
  );
}

const storeColumns: readonly Column<BoundedStore>[] = [
  ["Store", ({ name, scope }) => (
    <>
      {wordsOf(name)}{" "}
      {scope !== undefined && <span class="quiet">{scope}</span>}
    </>
  )],
  ["Share", (store) => <StoreMeter store={store} />, "wide"],
  ["Used", ({ used, unit }) => amountOf(used, unit), "number"],
  ["Capacity", ({ capacity, unit }) => amountOf(capacity, unit), "number"],
];

const threadColumns: readonly Column<HeapSize & { readonly name: string }>[] = [
  ["Thread", ({ name }) => name],
  ["Used", ({ usedBytes }) => bytes(usedBytes), "number"],
  ["Reserved", ({ totalBytes }) => bytes(totalBytes), "number"],
  ["Limit", ({ limitBytes }) => bytes(limitBytes), "number"],
  ["Outside", ({ externalBytes }) => bytes(externalBytes), "number"],
];

function StoreMeter({ store }: { readonly store: BoundedStore }) {
  const share = shareOf(store);
  return (
    <Meter
      label={`Use of ${store.name} ${store.scope ?? ""}`}
      value={store.used}
      max={store.capacity}
      text={`${number(store.used)} of ${
        number(store.capacity)
      } ${store.unit}, ${percent(share)}`}
      tone={share > 0.9 ? "warn" : "info"}
    />
  );
}

/** Formats an amount with its unit, which is in the plural: `1 key`. */
function amountOf(amount: number, unit: string): string {
  if (unit === "bytes") return bytes(amount);
  return `${compact(amount)} ${amount === 1 ? unit.replace(/s$/, "") : unit}`;
}

/** Returns the words of a name in camel case. */
function wordsOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function shareOf({ used, capacity }: BoundedStore): number {
  return used / Math.max(capacity, 1);
}
