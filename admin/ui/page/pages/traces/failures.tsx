/** Recent failed requests with causes and advice. */
import type { PageProps } from "../../app/page.ts";
import { linkTo } from "../../app/place.ts";
import { Code, Fact, Facts, Sentence, Table, Time } from "../../kit/data.tsx";
import { latency } from "../../kit/format.ts";
import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "../../kit/framework.ts";
import {
  Badge,
  Empty,
  Message,
  PageHead,
  Problem,
  toneOfStatus,
} from "../../kit/layout.tsx";
import { getJson, messageOf } from "../../server/api.ts";
import { usePolled } from "../../server/poll.ts";
import type { TraceEvent } from "./trace_events.ts";
import { TraceTable } from "./trace_table.tsx";

const MAX_SHOWN = 200;
/** Longer names would leave no room for the cause; the report has the full name. */
const MAX_NAME_LENGTH = 90;

interface Failure {
  readonly id: string;
  readonly time: string;
  readonly status: number;
  readonly reason: string;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly route: string | null;
  readonly backend: string | null;
  readonly cause: string;
}

interface FailureReport extends Failure {
  readonly failing: { readonly kind: string; readonly name: string } | null;
  readonly advice: string;
  readonly durationMs: number | null;
  readonly events: readonly TraceEvent[];
}

/** The page of failed requests, with the report of the one that the address names. */
export function Failures({ argument }: PageProps) {
  const { data, error } = usePolled<readonly Failure[]>(
    `failures?limit=${MAX_SHOWN}`,
    2000,
  );
  return (
    <>
      <PageHead
        title="Failures"
        about="Requests that ended with an error, each with its cause and what to do about it."
      />
      <Problem>{error}</Problem>
      {data.value && (
        <FailureList latest={data.value} isShort={argument !== ""} />
      )}
      {argument !== "" && <Report key={argument} id={argument} />}
    </>
  );
}

interface FailureListProps {
  readonly latest: readonly Failure[];
  /** Leaves room for the report below. */
  readonly isShort: boolean;
}

/** A list whose rows never move under the pointer. */
function FailureList({ latest, isShort }: FailureListProps) {
  const element = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState(latest);
  useLayoutEffect(() => {
    if (!element.current?.matches(":hover")) setDrawn(latest);
  }, [latest]);
  if (drawn.length === 0) {
    return (
      <section class="panel">
        <Empty title="No recent failures">
          Requests with an error appear here.{" "}
          <a href={linkTo("trace")}>Trace</a> follows those that succeed, too.
        </Empty>
      </section>
    );
  }
  const known = latest.findIndex(({ id }) => id === drawn[0]?.id);
  const newer = known < 0 ? latest.length : known;
  return (
    <>
      <Message>
        {newer === 0
          ? "Newest first."
          : `${newer} newer: move the pointer off the list to see them.`}
      </Message>
      <div
        ref={element}
        class={isShort ? "panel flush short" : "panel flush"}
        onPointerLeave={() => setDrawn(latest)}
      >
        <Table
          label="Failed requests, newest first"
          rows={drawn}
          keyOf={({ id, time }) => `${id} ${time}`}
          columns={[
            {
              title: "Request",
              isWide: true,
              cell: (failure) => (
                <a href={linkTo("failures", failure.id)}>
                  <span class="excerpt">{shorten(nameOf(failure))}</span>
                </a>
              ),
            },
            {
              title: "Status",
              cell: ({ status }) => (
                <Badge tone={toneOfStatus(status)}>{status}</Badge>
              ),
            },
            {
              title: "Cause",
              isWide: true,
              cell: ({ cause }) => <span class="excerpt">{cause}</span>,
            },
            { title: "Reason", cell: ({ reason }) => reason },
            { title: "Route", cell: ({ route }) => route ?? "–" },
            { title: "Time", cell: ({ time }) => <Time at={time} isShort /> },
          ]}
        />
      </div>
    </>
  );
}

function Report({ id }: { readonly id: string }) {
  const element = useRef<HTMLElement>(null);
  const [failure, setFailure] = useState<FailureReport | undefined>(undefined);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const leaving = new AbortController();
    getJson<FailureReport>(`failures/${encodeURIComponent(id)}`, leaving.signal)
      .then(setFailure, (error: unknown) => {
        if (!leaving.signal.aborted) setProblem(messageOf(error));
      });
    return () => leaving.abort();
  }, [id]);
  useLayoutEffect(() => element.current?.focus(), [failure]);
  return (
    <section class="panel" ref={element} aria-label="Report" tabIndex={-1}>
      <Problem>{problem}</Problem>
      {failure && <Explanation failure={failure} />}
    </section>
  );
}

function Explanation({ failure }: { readonly failure: FailureReport }) {
  const { failing, durationMs } = failure;
  return (
    <>
      <h2>Why {nameOf(failure)} failed</h2>
      <p class="cause">{failure.cause}</p>
      <p>
        <Sentence text={failure.advice} />
      </p>
      <Facts>
        <Fact name="Id">
          <code>{failure.id}</code>
        </Fact>
        <Fact name="Status">{failure.status}</Fact>
        <Fact name="Reason">{failure.reason}</Fact>
        <Fact name="Decided by">
          {failing && `${failing.kind} ${failing.name}`}
        </Fact>
        <Fact name="Route">
          {failure.route && (
            <a href={linkTo("topology", `route ${failure.route}`)}>
              {failure.route}
            </a>
          )}
        </Fact>
        <Fact name="Backend">{failure.backend}</Fact>
        <Fact name="Duration">{latency(durationMs)}</Fact>
        <Fact name="Time">
          <Time at={failure.time} />
        </Fact>
      </Facts>
      {failure.events.length === 0
        ? <Code value={failure} label="Failure as JSON" />
        : (
          <TraceTable
            label="Events of the failed request"
            events={failure.events}
            selectsFailure
          />
        )}
    </>
  );
}

/** Names a request; one that was rejected before it was parsed has only an id. */
function nameOf({ id, method, host, path }: Failure): string {
  return `${method} ${host}${path}`.trim() || id;
}

function shorten(name: string): string {
  return name.length <= MAX_NAME_LENGTH
    ? name
    : `${name.slice(0, MAX_NAME_LENGTH)}…`;
}
