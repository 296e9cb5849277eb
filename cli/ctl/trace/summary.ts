import { summarizeMessage } from "../../../src/telemetry/trace/reading/summarize_message.ts";
import type { ReceivedEvent } from "./decode_event.ts";

/** Summarizes an event in one line such as `401 jwt: token expired`. The result may be unsafe to print. */
export function summarize(event: ReceivedEvent): string {
  const { message, json, eventStart, eventEnd } = event;
  const text = message === undefined
    ? JSON.stringify(json["message"])
    : summarizeMessage(message);
  const took = eventStart === null || eventEnd === null
    ? ""
    : ` in ${formatTime(eventEnd - eventStart)}`;
  const scope = event.scope.map((name) => `[${name}] `).join("");
  return `${scope}${shorten(text)}${took}`.replaceAll(/\s+/g, " ");
}

function shorten(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`;
}

/** Maximum length in a list. */
const MAX_LENGTH = 500;

/** Formats microseconds: `850 µs`, `12.3 ms`, `1.20 s`, or `–` for an unknown time. */
export function formatTime(micros: number | null): string {
  if (micros === null) return "–";
  if (micros < 1000) return `${micros} µs`;
  const millis = micros / 1000;
  if (millis < 1000) return `${millis.toPrecision(3)} ms`;
  return `${(millis / 1000).toFixed(2)} s`;
}
