/** A flame graph: the outermost call on top, width is what a call used, a click shows one call at full width. */
import { h, number, setText } from "./dom.js";

const rowHeight = 22;
/** Narrower calls could not be seen, nor hit. */
const leastShare = 0.003;

/** Sums stacks up into calls: `{ name, total, children }`. */
export function buildTree(samples) {
  const root = { name: "all", total: 0, children: new Map() };
  for (const { value, frames } of samples) {
    root.total += value;
    let node = root;
    for (const name of frames) {
      let child = node.children.get(name);
      if (child === undefined) {
        child = { name, total: 0, children: new Map() };
        node.children.set(name, child);
      }
      child.total += value;
      node = child;
    }
  }
  return root;
}

/** Functions with what they used themselves and with what they call, the most first. */
export function hottest(samples) {
  const functions = new Map();
  const of = (name) => {
    const known = functions.get(name) ?? { name, own: 0, total: 0 };
    functions.set(name, known);
    return known;
  };
  for (const { value, frames } of samples) {
    // A function that calls itself counts once.
    for (const name of new Set(frames)) of(name).total += value;
    if (frames.length > 0) of(frames.at(-1)).own += value;
  }
  return [...functions.values()].toSorted((a, b) => b.own - a.own);
}

/** Shows a tree of `buildTree`; `format` writes its values. */
export class FlameGraph {
  #root;
  #format;
  #calls = h("div", {
    class: "flames",
    role: "group",
    "aria-label":
      "Calls; arrow keys go through them, Enter shows one at full width",
    onkeydown: (event) => this.#move(event),
  });
  #said = h("p", { class: "quiet", role: "status" });

  constructor(root, format) {
    this.#root = root;
    this.#format = format;
    this.element = h(
      "section",
      { "aria-label": "Flame graph" },
      h(
        "button",
        { type: "button", onclick: () => this.#zoom([root]) },
        "Show all",
      ),
      this.#said,
      this.#calls,
    );
    this.#zoom([root]);
  }

  /** Arrow keys move through the calls: hundreds of them are one stop for the tab key. */
  #move(event) {
    const next = {
      ArrowRight: "nextElementSibling",
      ArrowDown: "nextElementSibling",
      ArrowLeft: "previousElementSibling",
      ArrowUp: "previousElementSibling",
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    this.#focus(event.target[next]);
  }

  #focus(call) {
    if (!call) return;
    this.#calls.querySelector('[tabindex="0"]')?.setAttribute("tabindex", -1);
    call.setAttribute("tabindex", 0);
    call.focus();
  }

  /** What was chosen is made anew, and keeps the focus. */
  #look(path) {
    this.#zoom(path);
    this.#focus(this.#calls.children[path.length - 1]);
  }

  /** Shows the last of `path`, below those that called it. */
  #zoom(path) {
    this.#calls.replaceChildren();
    for (const [depth, node] of path.slice(0, -1).entries()) {
      this.#add(node, path.slice(0, depth + 1), 0, 1);
    }
    const node = path.at(-1);
    const depth = this.#draw(node, path, 0, 1);
    this.#calls.style.height = `${(depth + 1) * rowHeight}px`;
    setText(this.#said, this.#describe(node));
  }

  /** Answers the depth of the deepest call. */
  #draw(node, path, left, width) {
    this.#add(node, path, left, width);
    let deepest = path.length - 1;
    let at = left;
    for (const child of node.children.values()) {
      const share = (width * child.total) / node.total;
      if (share >= leastShare) {
        const depth = this.#draw(child, [...path, child], at, share);
        deepest = Math.max(deepest, depth);
      }
      at += share;
    }
    return deepest;
  }

  #add(node, path, left, width) {
    const call = h(
      "button",
      {
        type: "button",
        title: this.#describe(node),
        class: `heat${hash(node.name) % 5}`,
        tabindex: this.#calls.childElementCount === 0 ? 0 : -1,
        onclick: () => this.#look(path),
      },
      node.name,
    );
    call.style.left = `${left * 100}%`;
    call.style.width = `${width * 100}%`;
    call.style.top = `${(path.length - 1) * rowHeight}px`;
    this.#calls.append(call);
  }

  #describe({ name, total }) {
    const share = number((total / this.#root.total) * 100);
    return `${name}: ${this.#format(total)}, ${share} %`;
  }
}

/** The same function has the same colour everywhere. */
function hash(text) {
  let value = 0;
  for (const character of text) {
    value = (value * 31 + character.codePointAt(0)) >>> 0;
  }
  return value;
}
