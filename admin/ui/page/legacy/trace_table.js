/** Shows the events of a request and the details of the selected one. */
import { code, h, table } from "./dom.js";
import { bodyText, differences, summarize } from "./trace_events.js";

/** A table of events; `add` appends one, `show` replaces all. */
export class TraceTable {
  #events = [];
  #selected = -1;
  #body = h("tbody");
  #detail = h("section", { class: "detail", "aria-label": "Event" });

  constructor(label) {
    const columns = ["Event", "µs", "Summary"];
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
    this.#selected = -1;
    this.#body.replaceChildren();
    this.#detail.replaceChildren(
      h("p", { class: "quiet" }, "Select an event to see its details."),
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
      onkeydown: (key) => this.#move(key, index),
    }, event.message.type);
    this.#body.append(h(
      "tr",
      // The whole row, to which a click on the button comes as well.
      { class: event.severity, onclick: () => this.#select(index) },
      h("th", { scope: "row" }, button),
      h("td", { class: "number" }, String(event.eventEnd ?? "–")),
      h("td", {}, summarize(event)),
    ));
  }

  /** Selects the first error, else the first warning. */
  selectFailure() {
    const index = ["error", "warn"].map((severity) =>
      this.#events.findIndex((event) => event.severity === severity)
    ).find((each) => each >= 0);
    if (index !== undefined) this.#select(index);
  }

  #move(key, index) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key.key];
    const row = this.#body.rows[index + (step ?? 0)];
    if (step === undefined || row === undefined) return;
    key.preventDefault();
    row.querySelector("button").focus();
    this.#select(index + step);
  }

  #select(index) {
    const button = (at) => this.#body.rows[at]?.querySelector("button");
    button(this.#selected)?.setAttribute("aria-pressed", "false");
    button(index)?.setAttribute("aria-pressed", "true");
    this.#selected = index;
    const { message } = this.#events[index];
    this.#detail.replaceChildren(
      h("h3", {}, message.type),
      ...describeChanges(differences(this.#events, index)),
      ...(message.type === "bodySnapshot"
        ? [h("h4", {}, "As text"), code(bodyText(message.body), "Body")]
        : []),
      h("h4", {}, "Full event"),
      code(this.#events[index], "Event as JSON"),
    );
  }
}

function describeChanges(changes) {
  if (changes === undefined) return [];
  if (changes.length === 0) {
    return [
      h("p", { class: "quiet" }, "No changes since the previous snapshot."),
    ];
  }
  const rows = changes.map(({ path, before, after }) => [
    path,
    before === undefined ? h("i", {}, "absent") : h("del", {}, before),
    after === undefined ? h("i", {}, "absent") : h("ins", {}, after),
  ]);
  return [
    h("h4", {}, "Changes since the previous snapshot"),
    table(
      "Changes since the previous snapshot",
      ["Field", "Before", "After"],
      rows,
    ),
  ];
}
