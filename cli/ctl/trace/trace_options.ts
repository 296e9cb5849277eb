import type { AdminAddress } from "../../client/admin_client.ts";
import { UnreachableError } from "../../client/admin_connection.ts";
import { Failure, UsageError } from "../../process/exit.ts";
import type { TraceQuery } from "./stream.ts";

/** Options of `gwctl proxy trace`. */
export interface TraceOptions {
  readonly local?: boolean;
  /** Namespace of the gateway in a cluster. */
  readonly namespace?: string;
  readonly kubeconfig?: string;
  /** Port of the listener. */
  readonly port?: number;
  readonly adminPort?: number;
  /** `host:port` or `unix:<path>`. */
  readonly admin?: string;
  readonly tokenFile?: string;
  readonly raw?: boolean;
  readonly filter?: string;
  /** Another name of `filter`. */
  readonly expression?: string;
  readonly count?: number;
  /** Traces requests until the user quits. */
  readonly follow?: boolean;
  /** A saved trace; `-` is standard input. */
  readonly file?: string;
}

/** Source of the trace. */
export type TracePlan =
  | { readonly kind: "replay"; readonly file: string }
  | WatchPlan
  | InjectPlan;

/** Traces the next requests of any client. */
export interface WatchPlan {
  readonly kind: "watch";
  readonly address: AdminAddress;
  readonly gateway: string | undefined;
  readonly port: number | undefined;
  readonly filter: string | undefined;
  readonly count: number | undefined;
  readonly follow: boolean;
}

/** Sends a request and traces it. */
export interface InjectPlan {
  readonly kind: "inject";
  readonly address: AdminAddress;
  readonly gateway: string | undefined;
  readonly port: number | undefined;
  /** The user's http or https URL. */
  readonly url: string;
  /** The user's arguments for curl. */
  readonly curlArgs: readonly string[];
}

/**
 * Converts the command line to a plan.
 * @param words Arguments before `--`: `gateway/<name>`.
 * @param request Arguments after `--`: a URL and arguments for curl; `undefined` without `--`.
 * @throws {UsageError} When the arguments are inconsistent.
 */
export function planTrace(
  options: TraceOptions,
  words: readonly string[],
  request: readonly string[] | undefined,
): TracePlan {
  if (options.file !== undefined) {
    return planReplay(options.file, options, [...words, ...request ?? []]);
  }
  const { adminPort, admin, tokenFile, count, port } = options;
  const filter = options.filter ?? options.expression;
  const follow = options.follow === true;
  const where = {
    address: { port: adminPort, tokenFile, admin },
    gateway: gatewayOf(words),
    port,
  };
  if (follow && count !== undefined) {
    throw new UsageError(
      '"--follow" and "--count" exclude each other: --follow has no end',
    );
  }
  if (request === undefined) {
    return { kind: "watch", ...where, filter, count, follow };
  }
  if (filter !== undefined || count !== undefined || follow) {
    throw new UsageError(
      '"--filter", "--count" and "--follow" cannot be used together with a URL: only the sent request is traced',
    );
  }
  const [text = "", ...curlArgs] = request;
  requireUrl(text);
  const another = curlArgs.find((word, index) =>
    isUrl(word) && !curlArgs[index - 1]?.startsWith("-")
  );
  if (another !== undefined) {
    throw new UsageError(
      `Cannot send a request: expected one URL, got also "${another}"`,
    );
  }
  return { kind: "inject", ...where, url: text, curlArgs };
}

function planReplay(
  file: string,
  options: TraceOptions,
  words: readonly string[],
): TracePlan {
  const { local, port, adminPort, admin, count, follow } = options;
  const filter = options.filter ?? options.expression;
  const others = [local, port, adminPort, admin, filter, count, follow];
  if (words.length > 0 || others.some((option) => option !== undefined)) {
    throw new UsageError(
      '"--file" can only be combined with "--raw": a saved trace has no gateway',
    );
  }
  return { kind: "replay", file };
}

function gatewayOf(words: readonly string[]): string | undefined {
  const [word, second] = words;
  if (second !== undefined) {
    const hint = /^https?:/i.test(second) ? "; the URL comes after --" : "";
    throw new UsageError(
      `Cannot trace: expected one gateway/<name>, got also "${second}"${hint}`,
    );
  }
  if (word === undefined) return undefined;
  const [, name] = /^gateway\/([^/]+)$/.exec(word) ?? [];
  if (name !== undefined) return name;
  const hint = /^https?:/i.test(word) ? "; the URL comes after --" : "";
  throw new UsageError(
    `Cannot trace: expected gateway/<name>, got "${word}"${hint}`,
  );
}

function requireUrl(text: string): void {
  if (text === "") {
    throw new UsageError("Cannot send a request: the URL after -- is missing");
  }
  if (isUrl(text)) return;
  throw new UsageError(
    `Cannot send a request: expected an http:// or https:// URL first after --, got "${text}"`,
  );
}

function isUrl(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "");
}

/** The most requests of one stream. */
const ENDLESS = 100_000;

/** Returns the selection of requests for the gateway. */
export function queryOf(plan: WatchPlan): TraceQuery {
  const { filter, gateway, port } = plan;
  const count = plan.follow ? ENDLESS : plan.count;
  // The streams that follow requests at the same time are one reader.
  const group = plan.follow ? crypto.randomUUID() : undefined;
  return { filter, count, gateway, port, group };
}

/** Reports whether the trace may have several requests. */
export function hasMany({ follow, count = 1 }: WatchPlan): boolean {
  return follow || count > 1;
}

/** Adds a hint if `--port` was probably meant as the admin port, as in other commands. */
export function explainPort(
  error: unknown,
  { port, adminPort, admin }: TraceOptions,
): unknown {
  const isMistaken = port !== undefined && adminPort === undefined &&
    admin === undefined;
  if (!isMistaken || !(error instanceof UnreachableError)) return error;
  return new Failure(
    `${error.message}\n--port ${port} selects a listener, not the admin port`,
  );
}
