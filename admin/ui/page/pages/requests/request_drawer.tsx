/** Everything about one request: times, cause, advice, steps. */
import type { LoggedRequest } from "../../../../../src/telemetry/requests/logged_request.ts";
import { linkTo } from "../../navigation/place.ts";
import { useLayoutEffect, useRef } from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, Empty, Problem, toneOfStatus } from "../../kit/layout.tsx";
import { useFetched } from "../../server/poll.ts";
import { nameOf } from "./request_line.ts";
import { RequestReportView } from "./request_report.tsx";
import { traceFilterOf } from "./request_view.ts";

interface RequestDrawerProps {
  readonly record: string;
  /** Its line of the log, if that has it. */
  readonly line: LoggedRequest | undefined;
  readonly onClose: () => void;
}

/** A panel over the right side of the page, which moves nothing; Escape closes it. */
export function RequestDrawer({ record, line, onClose }: RequestDrawerProps) {
  const element = useRef<HTMLElement>(null);
  const { data: report, problem, isGone } = useFetched(
    `requests/${encodeURIComponent(record)}`,
  );
  // Before the next key is pressed, which may be Escape.
  useLayoutEffect(() => element.current?.focus({ preventScroll: true }), []);
  const close = () => {
    onClose();
    document.querySelector<HTMLElement>(".log-list .list")
      ?.focus({ preventScroll: true });
  };
  const known = report ?? line;
  return (
    <section
      ref={element}
      class="drawer"
      role="dialog"
      aria-label="Request"
      tabIndex={-1}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="drawer-head">
        {known && (
          <Badge tone={toneOfStatus(known.status)}>{known.status}</Badge>
        )}
        <h2>{known ? nameOf(known) : "Request"}</h2>
        <Button onPress={close} class="small">Close</Button>
      </div>
      {isGone ? <Gone line={line} /> : <Problem>{problem}</Problem>}
      {report && <RequestReportView report={report} />}
    </section>
  );
}

function Gone({ line }: { readonly line: LoggedRequest | undefined }) {
  return (
    <Empty title="This request is no longer recorded">
      Newer ones have replaced it.{" "}
      {line && line.method !== "" && (
        <a href={linkTo("trace", traceFilterOf(line))}>
          Trace the next one like it
        </a>
      )}
    </Empty>
  );
}
