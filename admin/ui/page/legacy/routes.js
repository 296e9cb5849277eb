/** Shows gateways, listeners, routes, policies and backends as connected columns; selecting one shows only related items. */
import { getJson } from "./api.js";
import { drawChains } from "./connectors.js";
import { code, h, remember, setText, svg } from "./dom.js";
import { LongList } from "./long_list.js";
import { pollVisibly } from "./poll.js";
import { columns, matchesFilter, readModel, relatedTo } from "./route_model.js";

export function show(content, { signal, argument }) {
  const problem = h("p", { class: "problem", role: "status" });
  const picture = h("div");
  content.append(problem, picture);
  let shown;
  let last;
  pollVisibly(3000, signal, problem, async () => {
    const { hash } = await getJson("status", signal);
    if (hash === shown) return;
    const model = readModel(await getJson("config", signal));
    shown = hash;
    picture.replaceChildren();
    // Keeps filter and selection across configuration changes.
    last = new Picture(
      model,
      picture,
      last ?? { filter: "", selected: argument },
    );
  });
}

class Picture {
  #model;
  #lists = {};
  #headings = {};
  #lines = svg("svg", { class: "lines", "aria-hidden": "true" });
  #message = h("p", { class: "unseen", role: "status" });
  #detail = h("section", { class: "detail", "aria-label": "Details" });
  #find;
  #selected;
  #chains = [];
  #drawing = false;

  /** @param before Previous filter and selection. */
  constructor(model, content, before) {
    this.#model = model;
    this.#find = h("input", {
      type: "search",
      placeholder: "name, path, host",
      value: before.filter,
      oninput: () => this.#update(),
    });
    const reset = h("button", {
      type: "button",
      onclick: () => {
        this.#find.value = "";
        this.#select(undefined);
      },
    }, "Show all");
    content.append(
      h(
        "div",
        { class: "row" },
        h("label", {}, "Find ", this.#find),
        reset,
        this.#message,
      ),
      h(
        "div",
        { class: "picture" },
        this.#lines,
        columns.map((column) => this.#createColumn(column)),
      ),
      this.#detail,
    );
    this.#show(model.items.get(before.selected));
  }

  get filter() {
    return this.#find.value;
  }

  get selected() {
    return this.#selected;
  }

  #createColumn({ name, title }) {
    const list = new LongList({
      label: title,
      onSelect: (item) =>
        this.#select(item.id === this.#selected ? undefined : item.id),
      onScroll: () => this.#drawSoon(),
    });
    this.#lists[name] = list;
    this.#headings[name] = h("h2", {}, title);
    return h("div", { class: "column" }, this.#headings[name], list.element);
  }

  #select(id) {
    remember("topology", id ?? "");
    this.#show(this.#model.items.get(id));
  }

  #show(item) {
    this.#selected = item?.id;
    this.#update();
    this.#describe(item);
  }

  #update() {
    const filter = this.filter.trim().toLowerCase();
    const chains = this.#chainsShown(filter);
    const ids = new Set(
      chains.flatMap((chain) => columns.flatMap(({ name }) => chain[name])),
    );
    this.#chains = chains;
    const counts = columns.map(({ name, title }) => {
      const all = this.#model.byColumn[name];
      const items = all.filter((item) =>
        ids.has(item.id) || this.#isUnused(item, filter)
      );
      this.#lists[name].setItems(
        items.map((item) => ({
          ...item,
          className: item.isBroken ? "broken" : "",
        })),
        this.#selected,
      );
      const count = items.length === all.length
        ? `${all.length}`
        : `${items.length} of ${all.length}`;
      setText(
        this.#headings[name],
        `${title} (${count.replace(" of ", "/")})`,
      );
      return `${count} ${title.toLowerCase()}`;
    });
    setText(this.#message, counts.join(", "));
    this.#drawSoon();
  }

  /** Returns the chains of the selection that match the filter. */
  #chainsShown(filter) {
    const { chains, index, items } = this.#model;
    const selected = this.#selected === undefined
      ? chains
      : index.get(this.#selected) ?? [];
    if (filter === "") return selected;
    return selected.filter((chain) =>
      columns.some(({ name }) =>
        chain[name].some((id) => matchesFilter(items.get(id), filter))
      )
    );
  }

  /** Reports whether to show an item without a chain, such as an unused backend. */
  #isUnused(item, filter) {
    if (this.#model.index.has(item.id)) return false;
    const isSelected = this.#selected === undefined ||
      this.#selected === item.id;
    return isSelected && matchesFilter(item, filter);
  }

  #describe(item) {
    if (item === undefined) {
      this.#detail.replaceChildren();
      return;
    }
    const { title, subtitle, detail, id, column } = item;
    const related = relatedTo(this.#model, id).size - 1;
    this.#detail.replaceChildren(
      h("h2", {}, title),
      h("p", { class: "quiet" }, `${subtitle} · ${related} related`),
      ...(column === "routes" ? [traceLink(detail)] : []),
      code(detail, `${title} as JSON`),
    );
  }

  /** Draws once before the next frame. */
  #drawSoon() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      drawChains(this.#lines, this.#chains, this.#lists);
    });
  }
}

/** Links to the live trace with a filter for the route's first path. */
function traceLink({ matches }) {
  const { type, value } = matches[0]?.path ?? {};
  const test = type === "Exact"
    ? "request.path == "
    : "request.path.startsWith(";
  const filter = test + JSON.stringify(value) + (type === "Exact" ? "" : ")");
  if (type === "RegularExpression") return [];
  return h(
    "p",
    {},
    h(
      "a",
      { href: `#trace/${encodeURIComponent(filter)}` },
      "Trace requests",
    ),
  );
}
