/** The events of a request as a waterfall, with the details of the selected one. */
import { decodeBody } from "../../../../../src/telemetry/trace/reading/decode_body.ts";
import type { Change } from "../../../../../src/telemetry/trace/reading/diff_states.ts";
import { summarizeMessage } from "../../../../../src/telemetry/trace/reading/summarize_message.ts";
import { Code, Waterfall } from "../../kit/data.tsx";
import { latency } from "../../kit/format.ts";
import {
  type TargetedKeyboardEvent,
  useId,
  useLayoutEffect,
  useState,
} from "../../kit/framework.ts";
import { Table } from "../../kit/table.tsx";
import { linkTo } from "../../navigation/place.ts";
import { status } from "../../server/status.ts";
import { tryOn } from "./sample.ts";
import {
  differences,
  type Span,
  spansOf,
  stateOf,
  type TraceEvent,
} from "./trace_events.ts";

const steps = new Map([["ArrowDown", 1], ["ArrowUp", -1]]);

interface TraceTableProps {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly events: readonly TraceEvent[];
  /** Selects the first error, else the first warning. */
  readonly selectsFailure?: boolean;
}

/** A table of events; arrow keys move the selection. */
export function TraceTable(
  { label, events, selectsFailure = false }: TraceTableProps,
) {
  const [selected, select] = useState(-1);
  const first = events[0];
  // A later effect would take back what has been selected since.
  useLayoutEffect(() => select(selectsFailure ? findFailure(events) : -1), [
    first,
  ]);
  const spans = spansOf(events);
  const onKeyDown = (
    event: TargetedKeyboardEvent<HTMLTableSectionElement>,
  ) => {
    const step = steps.get(event.key);
    const index = selected + (step ?? 0);
    if (step === undefined || events[index] === undefined) return;
    event.preventDefault();
    select(index);
    event.currentTarget.rows[index]?.querySelector("button")?.focus();
  };
  if (events.length === 0) return null;
  return (
    <div class="split">
      <div class="scroll" tabIndex={0} role="region" aria-label={label}>
        <table class="events">
          <caption class="unseen">{label}</caption>
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col" class="number">Time</th>
              <th scope="col" class="waterfall-head">Waterfall</th>
              <th scope="col">Summary</th>
            </tr>
          </thead>
          <tbody onKeyDown={onKeyDown}>
            {events.map((event, index) => (
              <EventRow
                key={index}
                event={event}
                span={spans[index]}
                isSelected={index === selected}
                onSelect={() => select(index)}
              />
            ))}
          </tbody>
        </table>
      </div>
      <EventDetail events={events} index={selected} />
    </div>
  );
}

interface EventRowProps {
  readonly event: TraceEvent;
  readonly span: Span | undefined;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}

function EventRow({ event, span, isSelected, onSelect }: EventRowProps) {
  const { message, severity, eventEnd } = event;
  return (
    <tr class={severity} onClick={onSelect}>
      <th scope="row">
        <button type="button" aria-pressed={isSelected}>{message.type}</button>
      </th>
      <td class="number">
        {eventEnd === null ? "–" : latency(eventEnd / 1000)}
      </td>
      <td class="waterfall-cell">{span && <Waterfall {...span} />}</td>
      <td>{summarizeMessage(message)}</td>
    </tr>
  );
}

interface EventDetailProps {
  readonly events: readonly TraceEvent[];
  readonly index: number;
}

function EventDetail({ events, index }: EventDetailProps) {
  const id = useId();
  const event = events[index];
  if (event === undefined) {
    return (
      <section class="detail" aria-label="Event">
        <p class="quiet">Select an event to see its details.</p>
      </section>
    );
  }
  const { message } = event;
  const requestState = stateOf(event);
  return (
    <section class="detail stack" aria-label="Event">
      <h3 id={id}>{message.type}</h3>
      <Changes changes={differences(events, index)} />
      {message.type === "bodySnapshot" && <Body base64={message.body} />}
      {requestState !== undefined && status.value?.server === "admin" && (
        <p>
          <a
            href={linkTo("playground", "expression")}
            onClick={() => tryOn(requestState)}
          >
            Test an expression with this request
          </a>
        </p>
      )}
      <h4>Full event</h4>
      <Code value={event} label="Event as JSON" />
    </section>
  );
}

function Body({ base64 }: { readonly base64: string }) {
  const { text } = decodeBody(base64, Infinity);
  if (text === undefined) return <p class="quiet">The body is not text.</p>;
  return (
    <>
      <h4>As text</h4>
      <Code value={text} label="Body" />
    </>
  );
}

function Changes(
  { changes }: { readonly changes: readonly Change[] | undefined },
) {
  if (changes === undefined) return null;
  if (changes.length === 0) {
    return <p class="quiet">No changes since the previous snapshot.</p>;
  }
  const title = "Changes since the previous snapshot";
  return (
    <>
      <h4>{title}</h4>
      <Table
        label={title}
        rows={changes}
        keyOf={({ path }) => path}
        columns={[
          ["Field", ({ path }) => path],
          ["Before", ({ before }) =>
            before === undefined ? <i>absent</i> : <del>{textOf(before)}</del>],
          ["After", ({ after }) =>
            after === undefined ? <i>absent</i> : <ins>{textOf(after)}</ins>],
        ]}
      />
    </>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function findFailure(events: readonly TraceEvent[]): number {
  const find = (severity: string) =>
    events.findIndex((event) => event.severity === severity);
  const error = find("error");
  return error >= 0 ? error : find("warn");
}
