import type { PolicyVerdict } from "../../telemetry/trace/trace_event.ts";
import { rejectWith } from "../authentication/auth_responses.ts";
import { Rejection } from "../contract/rejection.ts";
import type { CallerAllow, KeyCaller } from "./key_caller.ts";
import type { KeyAllow } from "./key_objects.ts";

/** Allowed names that a message lists. */
const MAX_NAMES = 10;

/** Describes what a key may not do: `key key_5d2c9a41b7e08f36 "ci" (team red) may not use model "o1"; team red allows: gpt-4o`. */
const deeds: Readonly<
  Record<keyof KeyAllow, { readonly done: string; readonly unknown: string }>
> = {
  models: {
    done: "may not use model",
    unknown: "may not send a request whose model is not known",
  },
  mcpServers: {
    done: "may not use MCP server",
    unknown: "may not use an MCP server whose name is not known",
  },
  tools: {
    done: "may not call tool",
    unknown: "may not call a tool whose name is not known",
  },
  addresses: {
    done: "may not be used from address",
    unknown: "may not be used from an unknown address",
  },
  routes: {
    done: "may not use route",
    unknown: "may not be used before a route is chosen",
  },
};

/** Returns the rejection of a request that a key, its user or its team is not allowed. @param name From the request, in quotes. */
export function denyByKey(
  caller: Pick<KeyCaller, "id" | "name" | "user" | "team">,
  { kind, id, allow }: CallerAllow,
  field: keyof KeyAllow,
  name: string | undefined,
  response = rejectWith("forbidden", "the request is not allowed"),
): Rejection<"api_key_access"> {
  const { done, unknown } = deeds[field];
  const deed = name === undefined ? unknown : `${done} ${name}`;
  const owner = kind === "key" ? "allowed" : `${kind} ${id} allows`;
  const message = `${describeKey(caller)}${
    ownersOf(caller)
  } ${deed}; ${owner}: ${listed(allow[field] ?? [])}`;
  return new Rejection("api_key_access", message, response);
}

/** Returns `key key_5d2c9a41b7e08f36 "ci"`: the ID, and the name if there is one. */
export function describeKey(
  { id, name }: Pick<KeyCaller, "id" | "name">,
): string {
  return name === undefined ? `key ${id}` : `key ${id} ${JSON.stringify(name)}`;
}

/** Returns the string that a rule which denied read from the request, in quotes; `undefined` if there is none. */
export function valueIn(
  verdict: PolicyVerdict | undefined,
  variable: string,
): string | undefined {
  if (verdict?.type !== "authorizationResult") return undefined;
  const values = verdict.rules.flatMap(({ values = [] }) => values);
  const found = values.find(({ name }) => name === variable)?.value;
  // Others are no strings, such as a field that is not set.
  return found?.startsWith('"') === true ? found : undefined;
}

function ownersOf({ user, team }: Pick<KeyCaller, "user" | "team">): string {
  const owners = [
    ...user === undefined ? [] : [`user ${user}`],
    ...team === undefined ? [] : [`team ${team}`],
  ];
  return owners.length === 0 ? "" : ` (${owners.join(", ")})`;
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(0, MAX_NAMES).join(", ");
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
