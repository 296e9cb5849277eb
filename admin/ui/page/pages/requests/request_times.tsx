/** The time of a request as a waterfall. */
import { Waterfall } from "../../kit/data.tsx";
import { latency } from "../../kit/format.ts";
import type { RequestReport } from "../../../../../src/telemetry/requests/logged_request.ts";
import { phasesOf } from "./request_phases.ts";

/** A table of the parts, with a bar for each. */
export function RequestTimes({ report }: { readonly report: RequestReport }) {
  const phases = phasesOf(report);
  const total = Math.max(report.durationMs ?? 0, 1e-6);
  if (phases.length === 0) return null;
  return (
    <table class="times">
      <caption>
        {`Time: ${latency(report.durationMs)}`}
      </caption>
      <thead class="unseen">
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Waterfall</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      <tbody>
        {phases.map(({ name, from, to, tone }) => (
          <tr key={`${name} ${from}`}>
            <th scope="row">{name}</th>
            <td class="waterfall-cell">
              <Waterfall from={from / total} to={to / total} tone={tone} />
            </td>
            <td class="number">{latency(Math.max(0, to - from))}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
