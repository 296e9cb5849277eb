import { fieldAt } from "./copy_field.ts";
import { detailLines, type DetailMode, wholeLines } from "./state/detail.ts";
import type { Key, KeyName } from "./keys.ts";
import { layoutOf, type Size } from "./state/layout.ts";
import {
  eventsOf,
  type Model,
  openRequest,
  select,
  selectRequest,
} from "./state/model.ts";
import { startSaving, type } from "./prompt.ts";
import { search } from "./search.ts";

/** Applies a key to the model, for a terminal of this size. */
export function update(model: Model, key: Key, size: Size): Model {
  const current = { ...model, notice: "", isTouched: true };
  if (key.name === "interrupt") return { ...current, isDone: true };
  if (current.prompt !== undefined) return type(current, key, size);
  if (current.isHelpOpen) return { ...current, isHelpOpen: false };
  if (key.name === "text") return command(current, key.text, size);
  return navigate(current, key.name, size);
}

const modes: Readonly<Record<string, DetailMode>> = {
  e: "event",
  s: "snapshot",
  d: "diff",
};

/** Letters for keys that not every keyboard has within reach. */
const moves: Readonly<Record<string, KeyName>> = {
  j: "down",
  k: "up",
  g: "home",
  G: "end",
};

function command(model: Model, letter: string, size: Size): Model {
  const mode = Object.hasOwn(modes, letter) ? modes[letter] : undefined;
  if (mode !== undefined) return { ...model, mode, detailLine: 0 };
  const move = Object.hasOwn(moves, letter) ? moves[letter] : undefined;
  if (move !== undefined) return navigate(model, move, size);
  switch (letter) {
    case "q":
      return { ...model, isDone: true };
    case "f": {
      const format = model.format === "yaml" ? "json" : "yaml";
      return { ...model, format, detailLine: 0 };
    }
    case "/":
      return { ...model, prompt: { kind: "search", text: "" } };
    case ":":
      return { ...model, prompt: { kind: "command", text: "" } };
    case "?":
      return { ...model, isHelpOpen: true };
    case "n":
      return search(model, 1, size);
    case "N":
      return search(model, -1, size);
    case "w":
      return startSaving(model);
    case "r":
      return { ...model, effects: [...model.effects, { kind: "repeat" }] };
    case "y":
      return copy(model, size);
    case "[":
      return openRequest(model, model.request - 1);
    case "]":
      return openRequest(model, model.request + 1);
    default:
      return model;
  }
}

/** Copies the field under the cursor, or all details while the events have the focus. */
function copy(model: Model, size: Size): Model {
  if (model.page === "requests") return model;
  const request = { ...model, events: eventsOf(model) };
  const lines = wholeLines(request).map(({ text }) => text);
  const { detail } = layoutOf(size);
  const { source = 0 } = detailLines(request, detail.width)[model.detailLine] ??
    {};
  const isWhole = model.focus === "events";
  const text = isWhole ? lines.slice(1).join("\n") : fieldAt(lines, source);
  const name = isWhole ? "the details" : "the field";
  const effects = [...model.effects, { kind: "copy", text, name } as const];
  return { ...model, effects };
}

function navigate(model: Model, key: KeyName, size: Size): Model {
  if (model.page === "requests") return navigateRequests(model, key, size);
  const { events, detail } = layoutOf(size);
  switch (key) {
    case "tab":
      return { ...model, focus: otherPane(model) };
    case "enter":
      return { ...model, focus: "detail" };
    case "escape":
      return model.focus === "detail"
        ? { ...model, focus: "events" }
        : { ...model, page: "requests", query: "" };
  }
  if (model.focus === "events") {
    const last = eventsOf(model).length - 1;
    const to = target(key, model.selected, events.height, last);
    return to === undefined ? model : select(model, to);
  }
  const { length } = detailLines(
    { ...model, events: eventsOf(model) },
    detail.width,
  );
  const last = Math.max(length - 1, 0);
  const to = target(key, model.detailLine, detail.height, last);
  if (to === undefined) return model;
  return { ...model, detailLine: Math.min(Math.max(to, 0), last) };
}

function otherPane({ focus }: Model): Model["focus"] {
  return focus === "events" ? "detail" : "events";
}

function navigateRequests(model: Model, key: KeyName, size: Size): Model {
  if (key === "enter") return openRequest(model, model.request);
  if (key === "escape") return { ...model, query: "" };
  const last = model.requests.length - 1;
  const to = target(key, model.request, layoutOf(size).list.height, last);
  return to === undefined ? model : selectRequest(model, to);
}

function target(key: KeyName, from: number, page: number, last: number) {
  switch (key) {
    case "up":
      return from - 1;
    case "down":
      return from + 1;
    case "pageUp":
      return from - page;
    case "pageDown":
      return from + page;
    case "home":
      return 0;
    case "end":
      return last;
    default:
      return undefined;
  }
}
