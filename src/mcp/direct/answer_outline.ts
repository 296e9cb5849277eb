import { utf8 } from "../../base/bytes.ts";
import { JsonCursor, jsonNames } from "../../base/json/json_cursor.ts";
import { KIND } from "../../base/json/json_tokens.ts";
import type { Era } from "../protocol/revisions.ts";
import { MAX_DEPTH } from "../protocol/rpc_messages.ts";
import { isAt, isText, LatestText, readInteger } from "./spans.ts";

/** The answer to a call of a tool, as parts of its message. */
export interface AnswerOutline {
  /** Members of the result that the client gets as they are: start and end of each, its name included. */
  readonly members: readonly number[];
  /** JSON of `_meta`, one character per byte; empty without. */
  readonly meta: string;
  /** The tool reports an error. */
  readonly isError: boolean;
}

/** Facts that decide whether an answer has to be rewritten. */
export interface AnswerForm {
  readonly era: Era;
  /** Id of the request at the server. */
  readonly id: number;
  /** Clients know resources of the server by other URIs. */
  readonly hasOwnUris: boolean;
}

const messageNames = jsonNames("jsonrpc", "id", "result");
const VERSION_NAME = 0;
const RESULT = 2;
/** Members of results that matter; the first ones stay as they are if their values are ordinary, and the last ones never. */
const resultNames = jsonNames(
  "content",
  "structuredContent",
  "isError",
  "resultType",
  "_meta",
  "task",
  "requestState",
  "inputRequests",
  "ttlMs",
  "cacheScope",
);
const CONTENT = 0;
const STRUCTURED_CONTENT = 1;
const IS_ERROR = 2;
const RESULT_TYPE = 3;
const META = 4;
const typeName = jsonNames("type");
/** Types of content without URIs. */
const plainTypes = ['"text"', '"image"', '"audio"'].map(utf8);
const VERSION = utf8('"2.0"');
const TRUE = utf8("true");
const COMPLETE = utf8('"complete"');
const latestMeta = new LatestText();

/** Finds the parts of an answer; `undefined` for one that has to be parsed because something in it has to change, or is invalid. */
export function outlineAnswer(
  bytes: Uint8Array,
  start: number,
  end: number,
  form: AnswerForm,
): AnswerOutline | undefined {
  const json = new JsonCursor(bytes, start, end, MAX_DEPTH);
  const result = new ResultReader(json, form);
  if (!json.enter(KIND.OPEN_OBJECT)) return undefined;
  let found = 0;
  while (json.nextMember()) {
    const name = json.nameIn(messageNames);
    if (name < 0 || (found & 1 << name) !== 0) return undefined;
    found |= 1 << name;
    const { at } = json;
    const isOrdinary = name === RESULT
      ? result.read()
      : name === VERSION_NAME
      ? isAt(bytes, at, json.skip(), VERSION)
      : readInteger(bytes, at, json.skip()) === form.id;
    if (!isOrdinary) return undefined;
  }
  const isWhole = found === 0b111 && json.isAtEnd && !json.hasBreaks &&
    isText(bytes, start, end);
  return isWhole ? result : undefined;
}

class ResultReader implements AnswerOutline {
  readonly members: number[] = [];
  meta = "";
  isError = false;
  readonly #json: JsonCursor;
  readonly #form: AnswerForm;

  constructor(json: JsonCursor, form: AnswerForm) {
    this.#json = json;
    this.#form = form;
  }

  /** Reads the result; returns false if a member has to change. */
  read(): boolean {
    const json = this.#json;
    if (!json.enter(KIND.OPEN_OBJECT)) return false;
    let found = 0;
    while (json.nextMember()) {
      const name = json.nameIn(resultNames);
      if (name < -1 || name > META) return false;
      if (name >= 0) {
        if ((found & 1 << name) !== 0) return false;
        found |= 1 << name;
      }
      const start = json.nameStart - 1;
      if (!this.#readValue(name)) return false;
      const isKept = name !== RESULT_TYPE && name !== META;
      if (isKept) this.members.push(start, json.at);
    }
    return !json.hasFailed;
  }

  #readValue(name: number): boolean {
    const json = this.#json;
    const { bytes, at, kind } = json;
    switch (name) {
      case CONTENT:
        if (this.#form.hasOwnUris && kind === KIND.OPEN_LIST) {
          return this.#readContent();
        }
        break;
      case STRUCTURED_CONTENT:
        if (this.#form.era === "legacy" && kind !== KIND.OPEN_OBJECT) {
          return false;
        }
        break;
      case IS_ERROR:
        this.isError = isAt(bytes, at, json.skip(), TRUE);
        return true;
      case RESULT_TYPE:
        return isAt(bytes, at, json.skip(), COMPLETE);
      case META: {
        const end = json.skip();
        this.meta = latestMeta.read(bytes, at, end);
        return kind === KIND.OPEN_OBJECT;
      }
    }
    json.skip();
    return true;
  }

  /** Returns false if a block may have a URI. */
  #readContent(): boolean {
    const json = this.#json;
    if (!json.enter(KIND.OPEN_LIST)) return false;
    while (json.nextItem()) {
      if (!json.enter(KIND.OPEN_OBJECT)) return false;
      while (json.nextMember()) {
        const name = json.nameIn(typeName);
        const { bytes, at } = json;
        const end = json.skip();
        const isPlain = name === -1 ||
          plainTypes.some((type) => isAt(bytes, at, end, type));
        if (!isPlain) return false;
      }
    }
    return !json.hasFailed;
  }
}
