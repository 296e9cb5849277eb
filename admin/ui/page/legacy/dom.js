/** Builds elements. Strings from the server become text nodes only; markup is not possible. */

/**
 * Creates an element: `h("a", { href: "#x", class: "name" }, "text", otherElement)`.
 * `on…` are listeners, `undefined` and `false` omit an attribute, lists of children may be nested.
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return fill(element, attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(isShown));
  return element;
}

function isShown(child) {
  return child !== undefined && child !== null && child !== false;
}

/** Creates a table with a caption for screen readers; cells are strings or elements, the first of a row is its header. */
export function table(caption, columns, rows) {
  const cell = (content, index) =>
    index === 0 ? h("th", { scope: "row" }, content) : h("td", {}, content);
  return h(
    "div",
    // Focusable, so that it can be scrolled with the keyboard.
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h(
        "thead",
        {},
        h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name))),
      ),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map(cell)))),
    ),
  );
}

/** Creates a list of name and value pairs. */
export function facts(entries) {
  return h(
    "dl",
    { class: "facts" },
    entries.map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value))
    ),
  );
}

/** Formats a value as indented JSON that can be scrolled with the keyboard. */
export function code(value, label) {
  const text = typeof value === "string"
    ? value
    : JSON.stringify(value, undefined, 2) ?? "";
  return h(
    "pre",
    { tabindex: "0", role: "region", "aria-label": label },
    text,
  );
}

/** Converts backquoted parts of a sentence to `code` elements. */
export function sentence(text) {
  return text.split("`").map((part, index) =>
    index % 2 === 1 ? h("code", {}, part) : part
  );
}

/** Changes the address to the current view, so that a reload restores it. */
export function remember(view, argument) {
  const suffix = argument === "" ? "" : `/${encodeURIComponent(argument)}`;
  history.replaceState(null, "", `#${view}${suffix}`);
}

/** Replaces the text of an element if it differs: screen readers announce only changes. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows a message; highlights a problem. */
export function showMessage(element, text, isProblem = false) {
  element.className = isProblem ? "problem" : "";
  setText(element, text);
}

/** Formats a number in the browser's language, with few digits. */
export function number(value, digits = 1) {
  return Number.isFinite(value)
    ? value.toLocaleString(undefined, { maximumFractionDigits: digits })
    : "–";
}

/** Formats a duration: `2 h 5 min`. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  /** @type {[number, string][]} */
  const units = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Math.floor(seconds) % 60, "s"],
  ];
  const parts = units.filter(([value]) => value > 0).slice(0, 2);
  return parts.map(([value, unit]) => `${value} ${unit}`).join(" ") || "0 s";
}

/** Formats a size: `12.3 MB`. */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const unit = Math.min(3, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${number(value / 1000 ** unit)} ${["B", "kB", "MB", "GB"][unit]}`;
}

/** Formats a time in the browser's locale, with its machine-readable value. */
export function time(rfc3339) {
  return h(
    "time",
    { datetime: rfc3339 },
    new Date(rfc3339).toLocaleString(undefined, {
      dateStyle: "medium",
      timeStyle: "medium",
    }),
  );
}
