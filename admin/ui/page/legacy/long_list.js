/** A list box of any length: the document contains only visible rows. */
import { h } from "./dom.js";

const ROW_HEIGHT = 46;
let count = 0;

/**
 * Arrow keys, Home, End and Page move the active row, Enter and Space select it.
 * Calls `onScroll` when the visible rows change.
 */
export class LongList {
  #items = [];
  #active = 0;
  #selected;
  #rows = new Map();
  #id = `list${++count}`;
  #onSelect;
  #onScroll;

  constructor({ label, onSelect, onScroll }) {
    this.#onSelect = onSelect;
    this.#onScroll = onScroll;
    this.sizer = h("div", { role: "presentation", class: "sizer" });
    this.element = h("div", {
      role: "listbox",
      class: "list",
      tabindex: "0",
      "aria-label": label,
      onscroll: () => this.#render(),
      onkeydown: (event) => this.#key(event),
    }, this.sizer);
    new ResizeObserver(() => this.#render()).observe(this.element);
  }

  setItems(items, selected) {
    const active = this.#items[this.#active]?.id;
    this.#items = items;
    this.#selected = selected;
    const index = items.findIndex(({ id }) => id === (selected ?? active));
    this.#active = Math.max(0, index);
    this.sizer.style.height = `${items.length * ROW_HEIGHT}px`;
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.#reveal();
    this.#render();
  }

  /** Returns the visible rows: id → element. */
  visible() {
    const box = this.element.getBoundingClientRect();
    const seen = new Map();
    for (const [id, row] of this.#rows) {
      const { top, bottom } = row.getBoundingClientRect();
      const middle = (top + bottom) / 2;
      if (middle > box.top && middle < box.bottom) seen.set(id, row);
    }
    return seen;
  }

  #key(event) {
    const page = Math.max(
      1,
      Math.floor(this.element.clientHeight / ROW_HEIGHT),
    );
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step !== undefined) {
      const last = this.#items.length - 1;
      this.#active = Math.max(0, Math.min(last, this.#active + step));
      this.#reveal();
      this.#render();
    } else if (event.key === "Enter" || event.key === " ") {
      const item = this.#items[this.#active];
      if (item !== undefined) this.#onSelect(item);
    } else return;
    event.preventDefault();
  }

  /** Scrolls to the active row. */
  #reveal() {
    const top = this.#active * ROW_HEIGHT;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + ROW_HEIGHT > scrollTop + clientHeight) {
      this.element.scrollTop = top + ROW_HEIGHT - clientHeight;
    }
  }

  #render() {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - 3);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + 3;
    const needed = new Map(
      this.#items.slice(first, last).map((
        item,
        index,
      ) => [item.id, first + index]),
    );
    for (const [id, row] of this.#rows) {
      if (needed.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    for (const [id, index] of needed) {
      const row = this.#rows.get(id) ?? this.#createRow(index);
      row.classList.toggle("active", index === this.#active);
      this.#rows.set(id, row);
    }
    const active = this.#rows.get(this.#items[this.#active]?.id);
    if (active === undefined) {
      this.element.removeAttribute("aria-activedescendant");
    } else this.element.setAttribute("aria-activedescendant", active.id);
    this.#onScroll?.();
  }

  #createRow(index) {
    const item = this.#items[index];
    const isSelected = item.id === this.#selected;
    const row = h(
      "div",
      {
        id: `${this.#id}-${index}`,
        role: "option",
        class: `row-item ${item.className ?? ""}`,
        "aria-selected": String(isSelected),
        "aria-setsize": this.#items.length,
        "aria-posinset": index + 1,
        title: `${item.title}\n${item.subtitle}`,
        onclick: () => {
          this.#active = index;
          this.#onSelect(item);
        },
      },
      h("span", { class: "row-title" }, item.title),
      h("span", { class: "row-subtitle" }, item.subtitle),
    );
    row.style.top = `${index * ROW_HEIGHT}px`;
    this.sizer.append(row);
    return row;
  }
}
