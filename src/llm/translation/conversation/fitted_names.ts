import { createHash } from "node:crypto";
import type { AnswerEvent, ChatRequest, Part } from "./conversation.ts";
import { UntranslatableError } from "./losses.ts";

/** Names that an API accepts. */
export interface NameLimits {
  readonly tool: RegExp;
  /** Of calls. */
  readonly id: RegExp;
  readonly maxLength: number;
}

/** A request with names that an API accepts. */
export interface FittedRequest {
  readonly request: ChatRequest;
  /** Gives a call in the answer the name that the client knows; `undefined` for a request without tools. */
  readonly restore: ((event: AnswerEvent) => AnswerEvent) | undefined;
}

/**
 * Replaces names of tools and ids of calls that an API does not accept, by others that are always the same: prompt caches go by the
 * bytes of a request.
 * @throws {UntranslatableError} If two tools get the same name.
 */
export function fitNames(
  request: ChatRequest,
  { tool, id, maxLength }: NameLimits,
): FittedRequest {
  if (!hasNames(request)) return { request, restore: undefined };
  const toolOf = (name: string) => fitted(name, tool, maxLength);
  const idOf = (name: string) => fitted(name, id, maxLength);
  const originals = new Map(
    request.tools.map(({ name }) => [toolOf(name), name]),
  );
  if (originals.size < request.tools.length) {
    throw new UntranslatableError('"tools" has several with the same name');
  }
  const choice = request.toolChoice;
  const fittedPart = (part: Part): Part => {
    if (part.type === "toolResult") return { ...part, id: idOf(part.id) };
    if (part.type !== "toolCall") return part;
    return { ...part, id: idOf(part.id), name: toolOf(part.name) };
  };
  return {
    request: {
      ...request,
      tools: request.tools.map((each) => ({
        ...each,
        name: toolOf(each.name),
      })),
      toolChoice: typeof choice === "object"
        ? { name: toolOf(choice.name) }
        : choice,
      turns: request.turns.map((turn) => ({
        ...turn,
        parts: turn.parts.map(fittedPart),
      })),
    },
    restore: (event) =>
      event.type === "toolCall"
        ? { ...event, name: originals.get(event.name) ?? event.name }
        : event,
  };
}

/** Reports whether a request has tools or calls. */
function hasNames({ tools, toolChoice, turns }: ChatRequest): boolean {
  return tools.length > 0 || typeof toolChoice === "object" ||
    turns.some(({ parts }) =>
      parts.some(({ type }) => type === "toolCall" || type === "toolResult")
    );
}

function fitted(name: string, pattern: RegExp, maxLength: number): string {
  if (pattern.test(name)) return name;
  const safe = name.replace(/[^A-Za-z0-9_-]/g, "_");
  return `${safe.slice(0, maxLength - 9)}_${digest(name).slice(0, 8)}`;
}

/** Returns the name of a user in characters that an API accepts; others become a digest, which tells users apart as well. */
export function fitUser(user: string, pattern: RegExp): string {
  return pattern.test(user) ? user : digest(user);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Before the signature: in the alphabet of URLs as it is, or in the other one. */
const MARKS = ["__sig__", "__sigb__"] as const;

/**
 * Creates the id under which a client knows a call: with the signature, as clients send ids back as they are, but leave out fields
 * that their API does not have.
 */
export function joinCallId(id: string, signature: string | undefined): string {
  if (signature === undefined) return id;
  const safe = signature.replaceAll("+", "-").replaceAll("/", "_")
    .replace(/=+$/, "");
  const joined = MARKS.map((mark) => id + mark + safe);
  const isSame = (other = "") =>
    other.replace(/=+$/, "") === signature.replace(/=+$/, "");
  return joined.find((each) => isSame(splitCallId(each).signature)) ?? id;
}

/** Splits an id that `joinCallId` has created. */
export function splitCallId(
  text: string,
): { readonly id: string; readonly signature?: string } {
  for (const mark of MARKS) {
    const at = text.indexOf(mark);
    if (at < 0) continue;
    const safe = text.slice(at + mark.length);
    const base64 = mark === MARKS[0]
      ? safe
      : safe.replaceAll("-", "+").replaceAll("_", "/");
    const signature = base64.padEnd(Math.ceil(base64.length / 4) * 4, "=");
    return { id: text.slice(0, at), signature };
  }
  return { id: text };
}
