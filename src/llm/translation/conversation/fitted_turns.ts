import type {
  ChatRequest,
  Part,
  TextPart,
  Tool,
  ToolCallPart,
  Turn,
} from "./conversation.ts";

/** Rules of a provider for the turns of a conversation. */
export interface TurnRules {
  /** The model takes turns of the system after those of the user. */
  readonly lateSystem?: boolean;
  /** Texts without a letter are rejected. */
  readonly noBlanks?: boolean;
}

/**
 * Returns turns that alternate. Instructions in mid-conversation stay at their place, so that the beginning, which is in the prompt
 * cache, does not change: as a text of the user where the model takes no other. Results of calls come first in their turn.
 */
export function fitTurns(
  turns: readonly Turn[],
  { lateSystem = false, noBlanks = false }: TurnRules,
): readonly Turn[] {
  const fitted: { role: Turn["role"]; parts: Part[] }[] = [];
  turns.forEach((turn, index) => {
    const isKept = turn.role === "system" && lateSystem &&
      turns[index - 1]?.role === "user" && turns[index + 1]?.role !== "user";
    const role = turn.role === "system" && !isKept ? "user" : turn.role;
    const parts = turn.parts.filter((part) =>
      !noBlanks || part.type !== "text" || part.text.trim() !== ""
    ).map((part) => turn.role === role ? part : asInstruction(part));
    const last = fitted.at(-1);
    if (parts.length === 0) return;
    if (last?.role === role) last.parts.push(...parts);
    else fitted.push({ role, parts });
  });
  return fitted.map(({ role, parts }) => ({
    role,
    parts: role === "user" ? resultsFirst(parts) : parts,
  }));
}

function asInstruction(part: Part): Part {
  return part.type === "text"
    ? { ...part, text: `<system>\n${part.text}\n</system>` }
    : part;
}

function resultsFirst(parts: readonly Part[]): readonly Part[] {
  const isResult = ({ type }: Part) => type === "toolResult";
  if (!parts.some(isResult)) return parts;
  return [
    ...parts.filter(isResult),
    ...parts.filter((each) => !isResult(each)),
  ];
}

/** Returns the texts of the system, those without a letter left out. */
export function systemTexts({ system }: ChatRequest): readonly TextPart[] {
  return system.filter(({ text }) => text.trim() !== "");
}

/**
 * Returns the tools; where a request has none but its conversation has calls, as when a client summarizes it, those that were called:
 * Anthropic and Bedrock reject calls of tools that they do not know.
 */
export function knownTools({ tools, turns }: ChatRequest): readonly Tool[] {
  if (tools.length > 0) return tools;
  const calls = turns.flatMap(({ parts }) => parts.filter(isCall));
  if (calls.length === 0) return tools;
  return Array.from(new Set(calls.map(({ name }) => name)), (name) => ({
    name,
    description: "This tool is no longer available.",
    schema: { type: "object" },
    strict: false,
  }));
}

function isCall(part: Part): part is ToolCallPart {
  return part.type === "toolCall";
}

/** Marks that the APIs of Anthropic, OpenAI and Bedrock accept in a request. */
const MAX_MARKS = 4;

/** Keeps the last marks for the prompt cache: the next turn reads what they cover. */
export function limitMarks(request: ChatRequest): ChatRequest {
  if (!hasMarks(request)) return request;
  let left = MAX_MARKS;
  const keepLast = <Item extends object>(items: readonly Item[]) =>
    items.toReversed().map((item) => {
      if (!("cache" in item) || item.cache === undefined) return item;
      return left-- > 0 ? item : { ...item, cache: undefined };
    }).toReversed();
  const turns = request.turns.toReversed().map((turn) => ({
    ...turn,
    parts: keepLast(turn.parts),
  })).toReversed();
  const system = keepLast(request.system);
  return { ...request, turns, system, tools: keepLast(request.tools) };
}

/** Reports whether a request has a mark for the prompt cache. */
export function hasMarks({ tools, system, turns }: ChatRequest): boolean {
  return tools.some(isMarked) || system.some(isMarked) ||
    turns.some(({ parts }) => parts.some(isMarked));
}

function isMarked(item: object): boolean {
  return "cache" in item && item.cache !== undefined;
}
