/** A flame graph: the outermost call is on top, the width of a call is its total, a click zooms in. */
import { h, number, setText } from "./dom.js";

const ROW_HEIGHT = 22;
/** Narrower calls would be neither visible nor clickable. */
const MIN_SHARE = 0.003;

/** Merges stacks into a tree of calls: `{ name, total, children }`. */
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

/** Returns functions with their own and total amounts, largest own amount first. */
export function hottest(samples) {
  const functions = new Map();
  const of = (name) => {
    const known = functions.get(name) ?? { name, own: 0, total: 0 };
    functions.set(name, known);
    return known;
  };
  for (const { value, frames } of samples) {
    // Recursive calls count once.
    for (const name of new Set(frames)) of(name).total += value;
    if (frames.length > 0) of(frames.at(-1)).own += value;
  }
  return [...functions.values()].toSorted((a, b) => b.own - a.own);
}

/** Returns the total of calls below `node` whose lower-case name contains `text`; nested calls count once. */
export function totalOf(node, text) {
  let total = 0;
  for (const child of node.children.values()) {
    const matches = child.name.toLowerCase().includes(text);
    total += matches ? child.total : totalOf(child, text);
  }
  return total;
}

/** Shows a tree of `buildTree`; `format` formats its amounts. */
export class FlameGraph {
  #root;
  #format;
  /** Calls from the outermost to the zoomed one. */
  #path;
  #calls = h("div", {
    class: "flames",
    role: "group",
    "aria-label": "Calls; arrow keys move, Enter zooms in",
    onkeydown: (event) => this.#move(event),
  });
  #message = h("p", { class: "quiet", role: "status" });
  #find = h("input", {
    type: "search",
    placeholder: "function or file",
    oninput: () => this.#mark(),
  });
  #found = h("p", { class: "quiet", "aria-live": "polite" });

  constructor(root, format) {
    this.#root = root;
    this.#format = format;
    this.element = h(
      "section",
      { "aria-label": "Flame graph" },
      h(
        "div",
        { class: "row" },
        h("label", {}, "Find ", this.#find),
        h(
          "button",
          { type: "button", onclick: () => this.#zoom([root]) },
          "Show all",
        ),
        this.#found,
      ),
      this.#message,
      this.#calls,
    );
    this.#zoom([root]);
  }

  /** Moves the focus by arrow keys: all calls are a single tab stop. */
  #move(event) {
    const { nextElementSibling: next, previousElementSibling: previous } =
      event.target;
    const depth = depthOf(event.target);
    const goal = {
      ArrowRight: () => next,
      ArrowLeft: () => previous,
      // A call precedes the calls that it makes.
      ArrowDown: () => next && depthOf(next) > depth ? next : null,
      ArrowUp: () => callerOf(event.target),
      Home: () => this.#calls.firstElementChild,
      End: () => this.#calls.lastElementChild,
    }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    this.#focus(goal());
  }

  #focus(call) {
    if (!call) return;
    this.#calls.querySelector('[tabindex="0"]')?.setAttribute("tabindex", -1);
    call.setAttribute("tabindex", 0);
    call.focus();
  }

  /** Zooms in and keeps the focus on the call. */
  #select(path) {
    this.#zoom(path);
    this.#focus(this.#calls.children[path.length - 1]);
  }

  /** Shows the last call of `path` at full width, below its callers. */
  #zoom(path) {
    this.#path = path;
    this.#calls.replaceChildren();
    for (const [depth, node] of path.slice(0, -1).entries()) {
      this.#add(node, path.slice(0, depth + 1), 0, 1);
    }
    const node = path.at(-1);
    const depth = this.#draw(node, path, 0, 1);
    this.#calls.style.height = `${(depth + 1) * ROW_HEIGHT}px`;
    setText(this.#message, this.#describe(node));
    this.#mark();
  }

  /** Highlights the calls that match the search. */
  #mark() {
    const text = this.#find.value.trim().toLowerCase();
    for (const call of this.#calls.children) {
      const matches = call.textContent.toLowerCase().includes(text);
      call.classList.toggle("found", text !== "" && matches);
      call.classList.toggle("other", text !== "" && !matches);
    }
    const total = totalOf(this.#path.at(-1), text);
    setText(this.#found, text === "" ? "" : `Found: ${this.#amount(total)}`);
  }

  /** Draws a call and its callees; returns the depth of the deepest one. */
  #draw(node, path, left, width) {
    this.#add(node, path, left, width);
    let deepest = path.length - 1;
    let at = left;
    for (const child of node.children.values()) {
      const share = (width * child.total) / node.total;
      if (share >= MIN_SHARE) {
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
        "data-depth": path.length,
        tabindex: this.#calls.childElementCount === 0 ? 0 : -1,
        onclick: () => this.#select(path),
      },
      node.name,
    );
    call.style.left = `${left * 100}%`;
    call.style.width = `${width * 100}%`;
    call.style.top = `${(path.length - 1) * ROW_HEIGHT}px`;
    this.#calls.append(call);
  }

  #describe({ name, total }) {
    return `${name}: ${this.#amount(total)}`;
  }

  #amount(total) {
    const share = number((total / this.#root.total) * 100);
    return `${this.#format(total)}, ${share} %`;
  }
}

function depthOf(call) {
  return Number(call.dataset.depth);
}

function callerOf(call) {
  const depth = depthOf(call);
  let caller = call.previousElementSibling;
  while (caller !== null && depthOf(caller) >= depth) {
    caller = caller.previousElementSibling;
  }
  return caller;
}

/** Hashes a name, so that a function has the same color everywhere. */
function hash(text) {
  let value = 0;
  for (const character of text) {
    value = (value * 31 + character.codePointAt(0)) >>> 0;
  }
  return value;
}
