import { summarize } from "../ctl/trace/summary.ts";
import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import { detailLines, type DetailMode } from "./detail.ts";
import type { Key, KeyName } from "./keys.ts";
import { layoutOf, type Size } from "./layout.ts";
import { type Model, select } from "./model.ts";

/** Applies a key to the model, for a terminal of this size. */
export function update(model: Model, key: Key, size: Size): Model {
  const current = { ...model, notice: "" };
  if (key.name === "interrupt") return { ...current, isDone: true };
  if (current.prompt !== undefined) return type(current, key, size);
  if (key.name === "text") return command(current, key.text, size);
  if (key.name === "tab") {
    const focus = current.focus === "events" ? "detail" : "events";
    return { ...current, focus };
  }
  return scroll(current, key.name, size);
}

const modes: Readonly<Record<string, DetailMode>> = {
  e: "event",
  s: "snapshot",
  d: "diff",
};

function command(model: Model, letter: string, size: Size): Model {
  const mode = Object.hasOwn(modes, letter) ? modes[letter] : undefined;
  if (mode !== undefined) return { ...model, mode, detailTop: 0 };
  switch (letter) {
    case "q":
      return { ...model, isDone: true };
    case "f": {
      const format = model.format === "yaml" ? "json" : "yaml";
      return { ...model, format, detailTop: 0 };
    }
    case "/":
      return { ...model, prompt: "" };
    case "n":
      return search(model, 1, size);
    case "N":
      return search(model, -1, size);
    default:
      return model;
  }
}

function type(model: Model, key: Key, size: Size): Model {
  const { prompt = "" } = model;
  switch (key.name) {
    case "text":
      return { ...model, prompt: prompt + key.text };
    case "backspace":
      return { ...model, prompt: [...prompt].slice(0, -1).join("") };
    case "escape":
      return { ...model, prompt: undefined, query: "" };
    case "enter":
      return search({ ...model, prompt: undefined, query: prompt }, 1, size);
    default:
      return model;
  }
}

function scroll(model: Model, key: KeyName, size: Size): Model {
  const { events, detail } = layoutOf(size);
  if (model.focus === "events") {
    const last = model.events.length - 1;
    const to = target(key, model.selected, events.height, last);
    return to === undefined ? model : select(model, to);
  }
  const { length } = detailLines(model, detail.width);
  const last = Math.max(length - detail.height, 0);
  const to = target(key, model.detailTop, detail.height, last);
  if (to === undefined) return model;
  return { ...model, detailTop: Math.min(Math.max(to, 0), last) };
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

/** Moves to the next match in the focused pane; wraps around. */
function search(model: Model, step: 1 | -1, size: Size): Model {
  const { query, focus, selected, detailTop, events } = model;
  if (query === "") return model;
  const needle = query.toLowerCase();
  if (focus === "events") {
    const found = findFrom(selected, step, events.length, (index) => {
      const event = events[index];
      return event !== undefined && textOf(event).includes(needle);
    });
    return found === undefined ? notFound(model) : select(model, found);
  }
  const { detail } = layoutOf(size);
  const lines = detailLines(model, detail.width);
  const found = findFrom(
    detailTop,
    step,
    lines.length,
    (index) => lines[index]?.text.toLowerCase().includes(needle) === true,
  );
  return found === undefined ? notFound(model) : { ...model, detailTop: found };
}

function textOf(event: ReceivedEvent): string {
  return `${event.type} ${summarize(event)} ${event.line}`.toLowerCase();
}

function notFound(model: Model): Model {
  return { ...model, notice: `not found: "${model.query}"` };
}

/** Returns the first match after `from`, wrapping around; `from` itself comes last. */
function findFrom(
  from: number,
  step: 1 | -1,
  length: number,
  matches: (index: number) => boolean,
): number | undefined {
  for (let count = 1; count <= length; count++) {
    const index = (from + step * count + length * count) % length;
    if (matches(index)) return index;
  }
  return undefined;
}
