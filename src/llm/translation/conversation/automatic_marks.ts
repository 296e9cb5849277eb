import type { ChatRequest, Part, Turn } from "./conversation.ts";
import { hasMarks } from "./fitted_turns.ts";

/** Turns of the user that get a mark: the one before the last is what the last request has cached. */
const MARKED_TURNS = 2;

const mark = { cache: { ttl: undefined } };

/**
 * Returns a request with marks for the prompt cache, unless the client has set some: at the end of what all conversations share, the
 * system text or else the tools, and at the latest turns of the user, so that each request reads what the one before has written.
 */
export function withAutomaticMarks(request: ChatRequest): ChatRequest {
  if (hasMarks(request)) return request;
  const { system, tools, turns } = request;
  const marked = turns.flatMap(({ role }, index) =>
    role === "user" ? [index] : []
  ).slice(-MARKED_TURNS);
  return {
    ...request,
    ...(system.length > 0
      ? { system: markLast(system, () => true) }
      : { tools: markLast(tools, () => true) }),
    turns: turns.map((turn, index) =>
      marked.includes(index) ? withMark(turn) : turn
    ),
  };
}

function withMark(turn: Turn): Turn {
  return { ...turn, parts: markLast(turn.parts, isMarkable) };
}

/** Providers reject marks on empty texts and on reasoning. */
function isMarkable(part: Part): boolean {
  return part.type !== "thinking" && (part.type !== "text" || part.text !== "");
}

function markLast<Item extends object>(
  items: readonly Item[],
  isMarkable: (item: Item) => boolean,
): readonly Item[] {
  const last = items.findLastIndex(isMarkable);
  return items.map((item, index) =>
    index === last ? { ...item, ...mark } : item
  );
}
