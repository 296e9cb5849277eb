import { isJsonObject } from "../base/json.ts";

/** A member by which the answer of an LLM is recognized, whatever the path of its request was. */
interface Mark {
  readonly path: string;
  /** Checks the value where the name alone says too little. */
  readonly value?: RegExp;
}

const marks: readonly Mark[] = [
  { path: "object", value: /^(?:chat\.completion|text_completion|response$)/ },
  { path: "choices[].finish_reason" },
  { path: "choices[].delta.content" },
  { path: "choices[].delta.role" },
  { path: "choices[].message.role" },
  { path: "data[].object", value: /^embedding$/ },
  { path: "candidates[].finishReason" },
  { path: "candidates[].content.role" },
  {
    path: "type",
    value:
      /^(?:message_start|content_block_\w+|message-start|content-\w+|response\.(?:created|queued|in_progress|output\w*)(?:\.\w+)*)$/,
  },
  { path: "stop_reason" },
  { path: "stopReason" },
  { path: "done_reason" },
  { path: "message.role", value: /^assistant$/ },
  { path: "generated_text" },
  { path: "token.logprob" },
];
const byPath = new Map(marks.map((mark) => [mark.path, mark]));

/** Paths of the members by which answers are recognized, as `JsonPaths` has them. */
export const shapePaths: readonly string[] = marks.map(({ path }) => path);

/** Reports whether a member shows that it is the answer of an LLM. */
export function isAnswerMember(path: string, value: unknown): boolean {
  const mark = byPath.get(path);
  if (mark === undefined) return false;
  return mark.value === undefined ||
    (typeof value === "string" && mark.value.test(value));
}

/** Reports whether a document is the answer of an LLM, or an event of one. */
export function isAnswer(document: unknown): boolean {
  return marks.some(({ path }) => {
    const value = valueAt(document, path.split("."));
    return value !== undefined && isAnswerMember(path, value);
  });
}

function valueAt(document: unknown, [name, ...rest]: string[]): unknown {
  if (name === undefined) return document;
  if (!isJsonObject(document)) return undefined;
  const key = name.replace("[]", "");
  const value = Object.hasOwn(document, key) ? document[key] : undefined;
  return valueAt(
    key === name || !Array.isArray(value) ? value : value[0],
    rest,
  );
}
