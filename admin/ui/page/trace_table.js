/** The events of a request beside what the chosen one holds. */
import { code, h, table } from "./dom.js";
import { bodyText, differences, summarise } from "./trace_events.js";

/** Shows events; `add` shows one more, `show` others. */
export class TraceTable {
  #events = [];
  #chosen = -1;
  #body = h("tbody");
  #detail = h("section", { class: "detail", "aria-label": "Event" });

  constructor(label) {
    const columns = ["Event", "µs", "What happened"];
    this.element = h(
      "div",
      { class: "split", hidden: true },
      h(
        "div",
        { class: "scroll", role: "region", tabindex: "0", "aria-label": label },
        h(
          "table",
          { class: "events" },
          h("caption", { class: "unseen" }, label),
          h(
            "thead",
            {},
            h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name))),
          ),
          this.#body,
        ),
      ),
      this.#detail,
    );
  }

  show(events) {
    this.#events = [];
    this.#chosen = -1;
    this.#body.replaceChildren();
    this.#detail.replaceChildren(
      h("p", { class: "quiet" }, "Choose an event to see what it holds."),
    );
    this.element.hidden = events.length === 0;
    for (const event of events) this.add(event);
  }

  add(event) {
    const index = this.#events.push(event) - 1;
    this.element.hidden = false;
    const button = h("button", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => this.#choose(index),
      onkeydown: (key) => this.#move(key, index),
    }, event.message.type);
    this.#body.append(h(
      "tr",
      { class: event.severity },
      h("th", { scope: "row" }, button),
      h("td", { class: "number" }, String(event.eventEnd)),
      h("td", {}, summarise(event)),
    ));
  }

  /** Chooses what went wrong first. */
  chooseFailing() {
    const index = ["error", "warn"].map((severity) =>
      this.#events.findIndex((event) => event.severity === severity)
    ).find((each) => each >= 0);
    if (index !== undefined) this.#choose(index);
  }

  #move(key, index) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key.key];
    const row = this.#body.rows[index + (step ?? 0)];
    if (step === undefined || row === undefined) return;
    key.preventDefault();
    row.querySelector("button").focus();
    this.#choose(index + step);
  }

  #choose(index) {
    const button = (at) => this.#body.rows[at]?.querySelector("button");
    button(this.#chosen)?.setAttribute("aria-pressed", "false");
    button(index)?.setAttribute("aria-pressed", "true");
    this.#chosen = index;
    const { message } = this.#events[index];
    this.#detail.replaceChildren(
      h("h3", {}, message.type),
      ...describeChanges(differences(this.#events, index)),
      ...(message.type === "bodySnapshot"
        ? [h("h4", {}, "As text"), code(bodyText(message.body), "Body")]
        : []),
      h("h4", {}, "Everything"),
      code(this.#events[index], "Event as JSON"),
    );
  }
}

function describeChanges(changes) {
  if (changes === undefined) return [];
  if (changes.length === 0) {
    return [h("p", { class: "quiet" }, "The same as the snapshot before.")];
  }
  const rows = changes.map(({ path, before, after }) => [
    path,
    before === undefined ? h("i", {}, "absent") : h("del", {}, before),
    after === undefined ? h("i", {}, "absent") : h("ins", {}, after),
  ]);
  return [
    h("h4", {}, "Changes since the snapshot before"),
    table(
      "Changes since the snapshot before",
      ["Field", "Before", "After"],
      rows,
    ),
  ];
}
