import { printYaml } from "../../../src/config/yaml/yaml.ts";
import { decodeBody } from "../../../src/telemetry/trace/reading/decode_body.ts";
import type { ReceivedEvent } from "../../ctl/trace/decode_event.ts";
import { summarize } from "../../ctl/trace/summary.ts";
import { printable } from "../../output/printable.ts";
import { wrap } from "../../output/columns.ts";
import {
  diffStates,
  linesOf,
} from "../../../src/telemetry/trace/reading/diff_states.ts";

/** Content of the detail pane. */
export type DetailMode = "event" | "snapshot" | "diff";

/** Format of values. */
export type DetailFormat = "yaml" | "json";

/** A line that is safe to print. */
export interface DetailLine {
  readonly kind: "plain" | "heading" | "added" | "removed";
  readonly text: string;
}

/** A part of a line that fits into the pane. */
export interface WrappedLine extends DetailLine {
  /** Index of the whole line. */
  readonly source: number;
}

/** Selected event and its presentation. */
export interface DetailRequest {
  readonly events: readonly ReceivedEvent[];
  readonly selected: number;
  readonly mode: DetailMode;
  readonly format: DetailFormat;
}

/** Longer strings, such as bodies in base64, are truncated. */
const MAX_TEXT_LENGTH = 4096;

/** Returns the lines of the detail pane, in at most `width` columns. */
export function detailLines(
  request: DetailRequest,
  width: number,
): readonly WrappedLine[] {
  return wholeLines(request).flatMap(({ kind, text }, source) =>
    wrap(text, width).map((text) => ({ kind, text, source }))
  );
}

/** Returns the lines of the detail pane, however long they are. */
export function wholeLines(request: DetailRequest): readonly DetailLine[] {
  const event = request.events[request.selected];
  if (event === undefined) return [];
  return linesFor(event, request).flatMap(({ kind, text }) =>
    text.split("\n").map((line) => ({ kind, text: printable(line) }))
  );
}

function linesFor(
  event: ReceivedEvent,
  { events, selected, mode, format }: DetailRequest,
): readonly DetailLine[] {
  if (mode === "event") {
    return [heading(summarize(event)), plain(print(event.json, format))];
  }
  if (mode === "snapshot" && event.message?.type === "bodySnapshot") {
    return describeBody(event.message);
  }
  const snapshot = snapshotBefore(events, selected + 1);
  if (snapshot === undefined) return [heading("no snapshot yet")];
  if (mode === "snapshot") {
    return [heading(snapshot.stage), plain(print(snapshot.state, format))];
  }
  const previous = snapshotBefore(events, snapshot.index);
  if (previous === undefined) {
    return [heading(`${snapshot.stage}: first snapshot`)];
  }
  const title = `${previous.stage} → ${snapshot.stage}`;
  const changes = diffStates(previous.state, snapshot.state);
  if (changes.length === 0) return [heading(`${title}: no changes`)];
  return [
    heading(title),
    ...changes.flatMap((change) => linesOf(change, shorten)),
  ];
}

/** Returns the last snapshot of the same request before the event at `index`. */
function snapshotBefore(events: readonly ReceivedEvent[], index: number) {
  for (let at = index - 1; at >= 0; at--) {
    const message = events[at]?.message;
    if (
      message?.type === "requestSnapshot" ||
      message?.type === "responseSnapshot"
    ) {
      return { index: at, stage: message.stage, state: message.requestState };
    }
    if (message?.type === "requestStarted") return undefined;
  }
  return undefined;
}

function describeBody(
  { stage, body, truncated }: {
    readonly stage: string;
    readonly body: string;
    readonly truncated?: true;
  },
): readonly DetailLine[] {
  const { byteLength, text } = decodeBody(body, 64 * 1024);
  const note = truncated === true ? ", truncated" : "";
  return [
    heading(`body of the ${stage}: ${byteLength} bytes${note}`),
    plain(text === undefined ? "binary; press e for base64" : indent(text)),
  ];
}

function indent(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Other text is shown unchanged.
    return text;
  }
}

function print(value: unknown, format: DetailFormat): string {
  const short: unknown = JSON.parse(
    JSON.stringify(
      value,
      (_, value) => typeof value === "string" ? shorten(value) : value,
    ),
  );
  return format === "json"
    ? JSON.stringify(short, null, 2)
    : printYaml(short).trimEnd();
}

function shorten(text: string): string {
  return text.length <= MAX_TEXT_LENGTH
    ? text
    : `${text.slice(0, MAX_TEXT_LENGTH)}… (${text.length} characters)`;
}

function heading(text: string): DetailLine {
  return { kind: "heading", text };
}

function plain(text: string): DetailLine {
  return { kind: "plain", text };
}
