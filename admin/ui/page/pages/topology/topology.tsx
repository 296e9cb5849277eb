/** Gateways, listeners, routes, policies and backends as connected columns; selecting one shows only related items. */
import type { PageProps } from "../../navigation/page.ts";
import { remember } from "../../navigation/place.ts";
import { useMemo, useRef, useState } from "../../kit/framework.ts";
import { Button, Find } from "../../kit/inputs.tsx";
import { Badge, Empty, Loading, PageHead, Problem } from "../../kit/layout.tsx";
import { VirtualList } from "../../kit/virtual_list.tsx";
import { getJson } from "../../server/api.ts";
import { useLoaded, usePolled } from "../../server/poll.ts";
import { HealthBadge, healthOf, type ShownHealth } from "../runtime/tasks.tsx";
import { useLines } from "./connectors.ts";
import { Detail } from "./detail.tsx";
import {
  chainsShown,
  columns,
  divide,
  idsOf,
  type Item,
  matchesFilter,
  type Model,
  readModel,
} from "./route_model.ts";

const ROW_HEIGHT = 48;

/** The page of routes. */
export function Topology({ argument, status }: PageProps) {
  const { data: model, problem } = useLoaded(status.hash, loadModel);
  const [filter, setFilter] = useState("");
  const selected = argument === "" ? undefined : argument;
  const select = (id: string | undefined) => remember("topology", id ?? "");
  const known = selected !== undefined && model?.items.has(selected)
    ? selected
    : undefined;
  const item = known === undefined ? undefined : model?.items.get(known);
  return (
    <>
      <PageHead
        title="Topology"
        about="The way of a request, from left to right. Select anything to see what belongs to it."
        actions={
          <>
            <Find
              placeholder="name, path, host"
              text={filter}
              onFind={setFilter}
            />
            <Button
              onPress={() => {
                setFilter("");
                select(undefined);
              }}
            >
              Show all
            </Button>
          </>
        }
      />
      <Problem>{problem}</Problem>
      {!model && problem === "" && <Loading />}
      {model && (
        <Picture
          model={model}
          filter={filter.trim().toLowerCase()}
          selected={known}
          onSelect={(id) => select(id === known ? undefined : id)}
        />
      )}
      {model && item && (
        <Detail model={model} item={item} version={status.hash} />
      )}
      {model && model.chains.length === 0 && (
        <Empty title="No listener is configured">
          Add <code>gateways</code> and <code>routes</code>{" "}
          to the configuration.
        </Empty>
      )}
    </>
  );
}

/** Parses, reads and draws thousands of routes in tasks of their own, so that the page stays fluid. */
async function loadModel(signal: AbortSignal): Promise<Model> {
  const dump = await getJson("config", signal);
  await nextTask();
  const model = await readModel(dump, createPause());
  await nextTask();
  return model;
}

/** Longest work, in milliseconds, until another task may run. */
const TASK_MS = 8;

/** Creates a pause that lasts only after some milliseconds of work: browsers delay each task by several. */
function createPause(): () => Promise<void> {
  let startedAt = performance.now();
  return async () => {
    if (performance.now() - startedAt < TASK_MS) return;
    await nextTask();
    startedAt = performance.now();
  };
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

interface PictureProps {
  readonly model: Model;
  readonly filter: string;
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
}

function Picture({ model, filter, selected, onSelect }: PictureProps) {
  const element = useRef<HTMLDivElement>(null);
  const { shown, items, counts } = useMemo(
    () => select(model, filter, selected),
    [model, filter, selected],
  );
  const health = useHealth();
  const [lines, drawSoon] = useLines(element, model, shown);
  return (
    <div class="picture" ref={element}>
      <svg class="lines" aria-hidden="true">
        {[...lines].map(([key, d]) => (
          <path
            key={key}
            d={d}
            class={selected === undefined ? undefined : "lit"}
          />
        ))}
      </svg>
      <p class="unseen" role="status">{counts.join(", ")}</p>
      {columns.map(({ name, title }) => (
        <div key={name} class={`column ${name}`}>
          <h2>
            {title}{" "}
            <span class="count">
              {shareOf(items[name], model.byColumn[name])}
            </span>
          </h2>
          <VirtualList
            label={title}
            items={items[name]}
            keyOf={({ id }) =>
              id}
            rowHeight={ROW_HEIGHT}
            selected={selected}
            onSelect={({ id }) =>
              onSelect(id)}
            onRows={drawSoon}
            classOf={({ problem }) => problem === undefined ? "" : "broken"}
            titleOf={(item) => `${item.title}\n${item.subtitle}`}
            row={(item) => <Row item={item} health={health} />}
          />
        </div>
      ))}
    </div>
  );
}

/** Health of backends by the ids of their items; a backend without an entry was not used yet. */
type Health = ReadonlyMap<string, ShownHealth>;

function useHealth(): Health {
  const { data } = usePolled("tasks?limit=1", 3000);
  const upstreams = data.value?.upstreams;
  return useMemo(() => {
    const worst = new Map<string, ShownHealth>();
    for (const upstream of upstreams ?? []) {
      const health = healthOf(upstream);
      for (const key of upstream.backends) {
        const id = `backend ${key}`;
        const { badness = -1 } = worst.get(id) ?? {};
        if (health.badness > badness) worst.set(id, health);
      }
    }
    return worst;
  }, [upstreams]);
}

interface RowProps {
  readonly item: Item;
  readonly health: Health;
}

function Row({ item: { id, title, subtitle, problem }, health }: RowProps) {
  const state = health.get(id);
  return (
    <span class="card-row">
      <span class="card-title">{title}</span>
      <span class="card-subtitle">{subtitle}</span>
      {problem !== undefined
        ? <Badge tone="bad">{problem}</Badge>
        : state !== undefined && <HealthBadge health={state} />}
    </span>
  );
}

function select(model: Model, filter: string, selected: string | undefined) {
  const { items, shown } = selectItems(model, filter, selected);
  const counts = columns.map(({ name, title }) =>
    `${
      shareOf(items[name], model.byColumn[name]).replace("/", " of ")
    } ${title.toLowerCase()}`
  );
  return { shown, items, counts };
}

function selectItems(
  model: Model,
  filter: string,
  selected: string | undefined,
) {
  const shown = chainsShown(model, selected, filter);
  if (shown === model.chains) return { shown, items: model.byColumn };
  const ids = new Set(shown.flatMap(idsOf));
  const isShown = (item: Item) =>
    ids.has(item.id) || isUnused(model, item, filter, selected);
  return {
    shown,
    items: divide([...model.items.values()].filter(isShown)),
  };
}

/** Reports whether to show an item without a chain, such as an unused backend. */
function isUnused(
  { index }: Model,
  item: Item,
  filter: string,
  selected: string | undefined,
): boolean {
  if (index.has(item.id)) return false;
  return (selected === undefined || selected === item.id) &&
    matchesFilter(item, filter);
}

function shareOf(some: readonly unknown[], all: readonly unknown[]): string {
  return some.length === all.length
    ? `${all.length}`
    : `${some.length}/${all.length}`;
}
