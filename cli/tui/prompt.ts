import { nearest } from "../../src/api/schema/suggest.ts";
import type { Key } from "./keys.ts";
import type { Size } from "./state/layout.ts";
import { type Model, openRequest, selectedRequest } from "./state/model.ts";
import type { TracedRequest } from "./state/requests.ts";
import { search } from "./search.ts";

/** Applies a key to the prompt. */
export function type(model: Model, key: Key, size: Size): Model {
  const { kind = "search", text = "" } = model.prompt ?? {};
  switch (key.name) {
    case "text":
      return { ...model, prompt: { kind, text: text + key.text } };
    case "backspace": {
      const shorter = [...text].slice(0, -1).join("");
      return { ...model, prompt: { kind, text: shorter } };
    }
    case "tab":
      return { ...model, prompt: { kind, text: complete(kind, text) } };
    case "escape":
      return { ...model, prompt: undefined, query: "" };
    case "enter": {
      const closed = { ...model, prompt: undefined };
      return kind === "search"
        ? search({ ...closed, query: text }, 1, size)
        : execute(closed, text.trim());
    }
    default:
      return model;
  }
}

/** Opens a prompt with the command that saves what is shown. */
export function startSaving(model: Model): Model {
  if (model.requests.length === 0) return nothingToSave(model);
  const request = model.page === "events" ? selectedRequest(model) : undefined;
  const name = request === undefined
    ? "traces.jsonl"
    : `trace-${request.number}.jsonl`;
  return { ...model, prompt: { kind: "command", text: `write ${name}` } };
}

/** Commands after `:`, with their descriptions. */
export const commands = {
  write: "save to a new file",
  repeat: "send the request again",
  requests: "list of requests",
  help: "keys and commands",
  quit: "quit",
} as const;

type CommandName = keyof typeof commands;

const commandNames = Object.keys(commands);

function complete(kind: string, text: string): string {
  if (kind !== "command" || text === "") return text;
  const found = commandNames.find((name) => name.startsWith(text));
  return found ?? text;
}

function execute(model: Model, text: string): Model {
  if (text === "") return model;
  if (/^[0-9]+$/.test(text)) return goTo(model, Number(text));
  const [word = ""] = text.split(/\s/, 1);
  const argument = text.slice(word.length).trim();
  const name = commandNames.find((name) => name.startsWith(word));
  if (!isCommand(name)) {
    const near = nearest(word, commandNames);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    return { ...model, notice: `unknown command: "${word}"${hint}` };
  }
  switch (name) {
    case "write":
      return save(model, argument);
    case "repeat":
      return { ...model, effects: [...model.effects, { kind: "repeat" }] };
    case "requests":
      return { ...model, page: "requests" };
    case "help":
      return { ...model, isHelpOpen: true };
    case "quit":
      return { ...model, isDone: true };
  }
}

function isCommand(name: string | undefined): name is CommandName {
  return name !== undefined && Object.hasOwn(commands, name);
}

/** Shows the request of this number. */
function goTo(model: Model, number: number): Model {
  const index = model.requests.findIndex((request) =>
    request.number === number
  );
  return index < 0
    ? { ...model, notice: `no request ${number}` }
    : openRequest(model, index);
}

function save(model: Model, file: string): Model {
  if (model.requests.length === 0) return nothingToSave(model);
  if (file === "") return { ...model, notice: "expected :write <file>" };
  const request = selectedRequest(model);
  const saved: readonly TracedRequest[] =
    model.page === "events" && request !== undefined
      ? [request]
      : model.requests;
  const text = saved.flatMap(({ events }) => events)
    .map(({ line }) => `${line}\n`).join("");
  const effects = [...model.effects, { kind: "save", file, text } as const];
  return { ...model, effects };
}

function nothingToSave(model: Model): Model {
  return { ...model, notice: "nothing to save yet" };
}
