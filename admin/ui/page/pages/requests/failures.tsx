/** Recent failed requests with causes and advice. */
import type { LoggedRequest } from "../../../../../src/telemetry/requests/logged_request.ts";
import type { PageProps } from "../../navigation/page.ts";
import { linkTo } from "../../navigation/place.ts";
import { Time } from "../../kit/data.tsx";
import { useLayoutEffect, useRef, useState } from "../../kit/framework.ts";
import {
  Badge,
  Empty,
  Message,
  PageHead,
  Problem,
  toneOfStatus,
} from "../../kit/layout.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useFetched, usePolled } from "../../server/poll.ts";
import { nameOf } from "./request_line.ts";
import { RequestReportView } from "./request_report.tsx";

const MAX_SHOWN = 100;
/** Longer names would leave no room for the cause; the report has the full name. */
const MAX_NAME_LENGTH = 90;

/** The page of failed requests, with the report of the one that the address names. */
export function Failures({ argument }: PageProps) {
  const { data, error } = usePolled(
    `requests?status=failed&limit=${MAX_SHOWN}`,
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
        <FailureList
          latest={data.value.requests}
          open={argument}
        />
      )}
      {argument !== "" && <Report key={argument} record={argument} />}
    </>
  );
}

interface FailureListProps {
  readonly latest: readonly LoggedRequest[];
  /** Record of the report below, for which the list leaves room; empty without one. */
  readonly open: string;
}

/** A list whose rows never move under the pointer. */
function FailureList({ latest, open }: FailureListProps) {
  const element = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState(latest);
  useLayoutEffect(() => {
    if (!element.current?.matches(":hover")) setDrawn(latest);
  }, [latest]);
  if (drawn.length === 0) {
    return (
      <Empty title="No recent failures" isPanel>
        Requests with an error appear here. <a href={linkTo("trace")}>Trace</a>
        {" "}
        follows those that succeed, too.
      </Empty>
    );
  }
  const known = latest.findIndex(({ record }) => record === drawn[0]?.record);
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
        class={open !== "" ? "panel flush short" : "panel flush"}
        onPointerLeave={() => setDrawn(latest)}
      >
        <Table
          label="Failed requests, newest first"
          rows={drawn}
          keyOf={({ record }) => record}
          isSelected={({ record, id }) => open === record || open === id}
          columns={columns}
        />
      </div>
    </>
  );
}

const columns: readonly Column<LoggedRequest>[] = [
  [
    "Request",
    (failure) => (
      <a
        href={linkTo("failures", failure.record)}
        title={nameOf(failure)}
      >
        <span class="excerpt">{shorten(nameOf(failure))}</span>
      </a>
    ),
    "wide",
  ],
  [
    "Status",
    ({ status }) => <Badge tone={toneOfStatus(status)}>{status}</Badge>,
  ],
  [
    "Cause",
    ({ cause }) => <span class="excerpt">{cause}</span>,
    "wide",
  ],
  ["Reason", ({ reason }) => reason],
  ["Route", ({ route }) => route ?? "–", "name"],
  ["Time", ({ time }) => <Time at={time} isShort />],
];

function Report({ record }: { readonly record: string }) {
  const element = useRef<HTMLElement>(null);
  const { data: failure, problem } = useFetched(
    `requests/${encodeURIComponent(record)}`,
  );
  useLayoutEffect(() => element.current?.focus(), [failure]);
  return (
    <section class="panel" ref={element} aria-label="Report" tabIndex={-1}>
      <Problem>{problem}</Problem>
      {failure && (
        <>
          <h2>Why {nameOf(failure)} failed</h2>
          <RequestReportView report={failure} />
        </>
      )}
    </section>
  );
}

function shorten(name: string): string {
  return name.length <= MAX_NAME_LENGTH
    ? name
    : `${name.slice(0, MAX_NAME_LENGTH)}…`;
}
