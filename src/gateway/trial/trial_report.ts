import type { ReplayableRequest } from "../../proxy/exchange/replayable_request.ts";
import type { LoggedRequest } from "../../telemetry/requests/logged_request.ts";
import type { ReplayOutcome } from "./replay.ts";

/** Effect of a change on requests that have ended. */
export interface TrialReport {
  /** Requests that were replayed; those that were rejected for their credentials are not recorded for that. */
  readonly requests: number;
  /** When the oldest of them was accepted, RFC 3339; `null` if there are none. */
  readonly since: string | null;
  /** One sentence, such as `12 denied, all of team red`. */
  readonly summary: string;
  readonly changes: Readonly<Record<TrialChange, number>>;
  /** The newest that would change. */
  readonly examples: readonly TrialExample[];
}

/** Ways in which the outcome of a request changes. */
const trialChanges = [
  "denied",
  "admitted",
  "rerouted",
  "undecided",
] as const;
/** A way in which the outcome of a request changes. `undecided`: a rule reads what is not recorded. */
export type TrialChange = typeof trialChanges[number];

/** A request whose outcome changes. */
export interface TrialExample extends
  Pick<
    LoggedRequest,
    "time" | "method" | "path" | "key" | "model" | "route"
  > {
  readonly change: TrialChange;
  readonly team: string | null;
  readonly user: string | null;
  readonly because: string | null;
}

const MAX_EXAMPLES = 50;

/** Compares the outcomes of the same requests, the oldest first, before and after a change. */
export function reportTrial(
  requests: readonly ReplayableRequest[],
  before: readonly ReplayOutcome[],
  after: readonly ReplayOutcome[],
): TrialReport {
  const changed = requests.flatMap((request, index) => {
    const [was, becomes] = [before[index], after[index]];
    const change = was && becomes && changeOf(was, becomes);
    return change === undefined || becomes === undefined
      ? []
      : [exampleOf(change, request, becomes)];
  });
  const [oldest] = requests;
  const ofChange = (change: TrialChange) =>
    changed.filter((each) => each.change === change);
  const parts = trialChanges.flatMap((change) =>
    describeAll(change, ofChange(change))
  );
  return {
    requests: requests.length,
    since: oldest === undefined
      ? null
      : new Date(oldest.acceptedAt).toISOString(),
    summary: parts.length === 0 ? "nothing changes" : parts.join("; "),
    changes: {
      denied: ofChange("denied").length,
      admitted: ofChange("admitted").length,
      rerouted: ofChange("rerouted").length,
      undecided: ofChange("undecided").length,
    },
    examples: changed.slice(-MAX_EXAMPLES).toReversed(),
  };
}

function changeOf(
  was: ReplayOutcome,
  becomes: ReplayOutcome,
): TrialChange | undefined {
  const passed = was.verdict === "passes";
  if (becomes.verdict === "undecided") return passed ? "undecided" : undefined;
  if (becomes.verdict === "denied") return passed ? "denied" : undefined;
  // The request may carry the credentials, which nobody looked at.
  if (becomes.missing.some((name) => !was.missing.includes(name))) {
    return "undecided";
  }
  if (was.verdict === "denied") return "admitted";
  return was.route === becomes.route ? undefined : "rerouted";
}

function exampleOf(
  change: TrialChange,
  request: ReplayableRequest,
  { route, because, missing }: ReplayOutcome,
): TrialExample {
  const { identities, client, model } = request;
  const owner = (name: string) => {
    const value = identities["apiKey"]?.[name] ?? identities["jwt"]?.[name];
    return typeof value === "string" ? value : null;
  };
  const credentials = missing.length === 0
    ? null
    : `its credentials are not recorded: ${missing.join(" or ")}`;
  return {
    change,
    time: new Date(request.acceptedAt).toISOString(),
    method: request.method,
    path: request.target,
    key: client === "" ? null : client,
    team: owner("team"),
    user: owner("user"),
    model: model ?? null,
    route: route ?? null,
    because: because ?? (change === "undecided" ? credentials : null),
  };
}

const dimensions = ["team", "user", "key", "model", "route"] as const;

/** Returns `12 denied, all of team red`, or `12 denied, 9 of team red`. */
function describeAll(
  change: TrialChange,
  examples: readonly TrialExample[],
): readonly string[] {
  const { length } = examples;
  if (length === 0) return [];
  const shares = dimensions.flatMap((dimension) => {
    const counts = Map.groupBy(examples, (each) => each[dimension]);
    const [[value, most = []] = [null]] = [...counts]
      .toSorted(([, a], [, b]) => b.length - a.length);
    return value === null ? [] : [{ dimension, value, count: most.length }];
  });
  const common = shares.find(({ count }) => count === length) ??
    shares.find(({ count }) => count > length / 2);
  if (common === undefined) return [`${length} ${change}`];
  const { dimension, value, count } = common;
  const share = count < length ? `${count}` : length === 1 ? "" : "all ";
  const part = count < length ? `${share} ` : share;
  return [`${length} ${change}, ${part}of ${dimension} ${value}`];
}
