/** Builds elements. Text from the server becomes text nodes only; there is no way to hand in markup. */

/**
 * An element: `h("a", { href: "#x", class: "name" }, "text", otherElement)`.
 * `on…` are listeners, `undefined` and `false` leave an attribute out, a list of children may be nested.
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
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

/** A table with a caption for those who do not see it; cells are texts or elements, the first of a row is its header. */
export function table(caption, columns, rows) {
  const cell = (content, index) =>
    index === 0 ? h("th", { scope: "row" }, content) : h("td", {}, content);
  return h(
    "div",
    // Those who scroll with the keyboard must be able to reach it.
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

/** Name and value pairs. */
export function facts(entries) {
  return h(
    "dl",
    { class: "facts" },
    entries.map(([name, value]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value))
    ),
  );
}

/** Any value as indented JSON, which a keyboard can scroll. */
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

/** A sentence in which backquotes set names apart, as `code`. */
export function sentence(text) {
  return text.split("`").map((part, index) =>
    index % 2 === 1 ? h("code", {}, part) : part
  );
}

/** Shows another address for what is on the page, so that it is there again after a reload. */
export function remember(view, argument) {
  const place = argument === "" ? "" : `/${encodeURIComponent(argument)}`;
  history.replaceState(null, "", `#${view}${place}`);
}

/** Replaces what an element holds, unless it holds the same text: readers hear only of changes. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** As `setText`; sets a problem apart. */
export function say(element, text, isProblem = false) {
  element.className = isProblem ? "problem" : "";
  setText(element, text);
}

/** The number in the browser's language, with few digits. */
export function number(value, digits = 1) {
  return Number.isFinite(value)
    ? value.toLocaleString(undefined, { maximumFractionDigits: digits })
    : "–";
}

/** Such as `2 h 5 min`. */
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

/** Such as `12.3 MB`. */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const unit = Math.min(3, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${number(value / 1000 ** unit)} ${["B", "kB", "MB", "GB"][unit]}`;
}

/** A time as the browser's user writes it; with the exact text for machines. */
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
