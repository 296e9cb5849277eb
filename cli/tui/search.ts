import type { ReceivedEvent } from "../ctl/trace/decode_event.ts";
import { summarize } from "../ctl/trace/summary.ts";
import { detailLines, type WrappedLine } from "./state/detail.ts";
import { layoutOf, type Size } from "./state/layout.ts";
import { eventsOf, type Model, select, selectRequest } from "./state/model.ts";

/**
 * Moves to the next match; wraps around. In the list, a match is a request; else it is a line of the details, or an event: the
 * details of the selected event come first.
 */
export function search(model: Model, step: 1 | -1, size: Size): Model {
  if (model.query === "") return model;
  const found = model.page === "requests"
    ? searchRequests(model, step)
    : searchDetails(model, step, size) ?? searchEvents(model, step, size);
  return found ?? { ...model, notice: `not found: "${model.query}"` };
}

function searchRequests(model: Model, step: 1 | -1): Model | undefined {
  const { requests, request } = model;
  const found = findFrom(
    request,
    step,
    requests.length,
    (index) =>
      requests[index]?.events.some((event) => isMatch(event, model.query)) ===
        true,
  );
  return found === undefined ? undefined : selectRequest(model, found);
}

/** Finds a line beyond the cursor in the details of the selected event. */
function searchDetails(
  model: Model,
  step: 1 | -1,
  size: Size,
): Model | undefined {
  const lines = linesOf(model, size);
  for (
    let index = model.detailLine + step;
    index >= 0 && index < lines.length;
    index += step
  ) {
    if (includes(lines[index]?.text, model.query)) {
      return { ...model, detailLine: index };
    }
  }
  return undefined;
}

function searchEvents(
  model: Model,
  step: 1 | -1,
  size: Size,
): Model | undefined {
  const events = eventsOf(model);
  const found = findFrom(model.selected, step, events.length, (index) => {
    const event = events[index];
    return event !== undefined && isMatch(event, model.query);
  });
  if (found === undefined) return undefined;
  const there = { ...select(model, found), detailLine: 0 };
  const lines = linesOf(there, size);
  const matches = ({ text }: WrappedLine) => includes(text, model.query);
  const line = step === 1
    ? lines.findIndex(matches)
    : lines.findLastIndex(matches);
  return { ...there, detailLine: Math.max(line, 0) };
}

function linesOf(model: Model, size: Size): readonly WrappedLine[] {
  const request = { ...model, events: eventsOf(model) };
  return detailLines(request, layoutOf(size).detail.width);
}

function isMatch(event: ReceivedEvent, query: string): boolean {
  return [event.type, summarize(event), event.line]
    .some((text) => includes(text, query));
}

function includes(text: string | undefined, query: string): boolean {
  return text?.toLowerCase().includes(query.toLowerCase()) === true;
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
