/** Everything about one request: times, cause, advice, steps. */
import { linkTo } from "../../app/place.ts";
import { Fact, Facts, Sentence, Time } from "../../kit/data.tsx";
import { compact, dollars, latency } from "../../kit/format.ts";
import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "../../kit/framework.ts";
import { Button } from "../../kit/inputs.tsx";
import { Badge, Empty, Problem, toneOfStatus } from "../../kit/layout.tsx";
import { ApiError, getJson, messageOf } from "../../server/api.ts";
import { TraceTable } from "../traces/trace_table.tsx";
import type { LoggedRequest, RequestReport } from "./request_line.ts";
import { RequestTimes } from "./request_times.tsx";
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
  const [report, setReport] = useState<RequestReport | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<RequestReport>(
      `requests/${encodeURIComponent(record)}`,
      leaving.signal,
    ).then(setReport, (error: unknown) => {
      if (leaving.signal.aborted) return;
      if (error instanceof ApiError && error.status === 404) setGone(true);
      else setProblem(messageOf(error));
    });
    return () => leaving.abort();
  }, [record]);
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
      <Problem>{problem}</Problem>
      {isGone && <Gone line={line} />}
      {report && <Report report={report} />}
    </section>
  );
}

/** Names a request; one that was rejected before it was parsed has only an id. */
function nameOf({ id, method, host, path }: LoggedRequest): string {
  return `${method} ${host}${path}`.trim() || id;
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

function Report({ report }: { readonly report: RequestReport }) {
  const { cause, advice } = report;
  return (
    <>
      {cause !== null && <p class="cause">{cause}</p>}
      {advice !== null && (
        <p>
          <Sentence text={advice} />
        </p>
      )}
      <RequestTimes report={report} />
      <RequestFacts report={report} />
      <h3>Recorded steps</h3>
      <p class="quiet">
        This request was not traced: these steps were recorded without policies,
        headers and bodies.{" "}
        {report.method !== "" && (
          <a href={linkTo("trace", traceFilterOf(report))}>
            Trace the next one like it
          </a>
        )}
      </p>
      <TraceTable
        label="Steps of the request"
        events={report.events}
        selectsFailure={report.hasFailed}
      />
    </>
  );
}

function RequestFacts({ report }: { readonly report: RequestReport }) {
  const { failing, route, routeKey, inputTokens, outputTokens } = report;
  return (
    <Facts>
      <Fact name="Time">
        <Time at={report.time} />
      </Fact>
      <Fact name="Reason">{report.reason}</Fact>
      {failing && (
        <Fact name="Decided by">{`${failing.kind} ${failing.name}`}</Fact>
      )}
      <Fact name="Route">
        {routeKey && (
          <a href={linkTo("topology", `route ${routeKey}`)}>{route}</a>
        )}
      </Fact>
      <Fact name="Backend">{report.backend ?? undefined}</Fact>
      <Fact name="Key">{report.key ?? undefined}</Fact>
      {inputTokens !== null && (
        <>
          <Fact name="Model">{report.model ?? undefined}</Fact>
          <Fact name="Tokens">
            {`${compact(inputTokens)} in, ${compact(outputTokens)} out`}
          </Fact>
          <Fact name="Cost">{dollars(report.costUsd)}</Fact>
          <Fact name="First token">{latency(report.firstTokenMs)}</Fact>
        </>
      )}
      <Fact name="Id">
        <code>{report.id}</code>
      </Fact>
    </Facts>
  );
}
