import type { RequestReport } from "../../../../../src/telemetry/requests/logged_request.ts";

/** A part of the time of a request, in milliseconds. */
export interface Phase {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly tone: "accent" | "good" | "warn" | "bad" | "quiet";
}

/** Divides the time of a request; returns nothing when it is not known. */
export function phasesOf(report: RequestReport): readonly Phase[] {
  const { durationMs, calls, firstTokenMs } = report;
  if (durationMs === null) return [];
  const first = calls[0];
  const last = calls.at(-1);
  if (first === undefined || last === undefined) {
    return [{ name: "Gateway", from: 0, to: durationMs, tone: "accent" }];
  }
  const streamAt = Math.min(durationMs, firstTokenMs ?? last.endMs);
  return [
    { name: "Gateway", from: 0, to: first.startMs, tone: "accent" },
    ...calls.map(({ endpoint, status, error, startMs, endMs }): Phase => ({
      name: `${endpoint ?? "Backend"}: ${error ?? status ?? "no response"}`,
      from: startMs,
      to: endMs,
      tone: status === null || status >= 500
        ? "bad"
        : status >= 400
        ? "warn"
        : "good",
    })),
    ...firstTokenMs === null ? [] : [
      {
        name: "Until the first token",
        from: last.endMs,
        to: streamAt,
        tone: "quiet",
      } as const,
    ],
    {
      name: firstTokenMs === null ? "Response body" : "Tokens",
      from: streamAt,
      to: durationMs,
      tone: "accent",
    },
  ];
}
