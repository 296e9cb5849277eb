/** Everything about one request, for its page and its drawer. */
import { linkTo } from "../../navigation/place.ts";
import { Fact, Facts, Sentence, Time } from "../../kit/data.tsx";
import { compact, dollars, latency } from "../../kit/format.ts";
import { TraceTable } from "../traces/trace_table.tsx";
import type { RequestReport } from "../../../../../src/telemetry/requests/logged_request.ts";
import { RequestTimes } from "./request_times.tsx";
import { traceFilterOf } from "./request_view.ts";

/** Times, cause, advice, facts and steps of a request. */
export function RequestReportView(
  { report }: { readonly report: RequestReport },
) {
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
      {report.mcpServer !== null && (
        <Fact name="MCP">
          {[report.mcpServer, report.mcpTool].filter(Boolean).join(", tool ")}
        </Fact>
      )}
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
