import type { ConfigurationHistory } from "./editing/configuration_history.ts";
import { createHiding } from "../api/redact_configuration.ts";
import type { GenericSchema, Infer } from "../api/schema/schema.ts";
import { formatPath, validate } from "../api/schema/validate.ts";
import { systemClock } from "../base/clock.ts";
import { Compilations } from "../compile/compilations.ts";
import {
  type ConfigText,
  formatDiagnostics,
  isError,
} from "../config/diagnostics/located_diagnostic.ts";
import type { DataPlane } from "../dataplane/data_plane.ts";
import { authorizationSchema } from "../policy/authorization/authorization_schema.ts";
import type { Policy } from "../policy/contract/policy.ts";
import type {
  PolicyOptions,
  PolicyProblem,
} from "../policy/contract/policy_kind.ts";
import { rateLimitSchema } from "../policy/rate_limit/rate_limit_schema.ts";
import type { ReplayableRequest } from "../proxy/exchange/replayable_request.ts";
import {
  type Candidate,
  type CandidateOptions,
  compileCandidate,
  diagnosticsOf,
  loadCandidate,
} from "./candidate/candidate.ts";
import type {
  ConfigurationEditor,
  Draft,
} from "./editing/configuration_editor.ts";
import type { ExtraPolicy, ReplayOutcome } from "./trial/replay.ts";
import type { ReplayServices } from "./trial/replay_services.ts";
import { reportTrial, type TrialReport } from "./trial/trial_report.ts";

/** A change to try: a rule or a limit beside those in force, other files, or a draft of the editor. */
export type Trial =
  | {
    readonly kind: "rule";
    /** Configuration of `authorization`. */
    readonly authorization: unknown;
    readonly route?: string | undefined;
  }
  | {
    readonly kind: "limit";
    /** Configuration of `rateLimit`. */
    readonly rateLimit: unknown;
    readonly route?: string | undefined;
  }
  | { readonly kind: "config"; readonly files: readonly ConfigText[] }
  | { readonly kind: "draft"; readonly draft: Draft };

/** The report, or why the change cannot be tried. */
export type TrialAnswer = TrialReport | { readonly problem: string };

/** Most requests of a trial. */
export const MAX_TRIED = 1000;

/** Dependencies of trials. */
export interface TrialsOptions extends CandidateOptions {
  readonly dataPlane: DataPlane;
  readonly editor: Pick<ConfigurationEditor, "open">;
  /** Has the configuration in force, which the changes are compared with. */
  readonly history: ConfigurationHistory;
}

/** Tries changes on requests that have ended, one trial at a time: nothing changes, and no request is sent. */
export class Trials {
  readonly #options: TrialsOptions;
  #running: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: TrialsOptions) {
    this.#options = options;
  }

  /** @param last Number of requests, the newest; at most `MAX_TRIED`. */
  async run(trial: Trial, last: number): Promise<TrialAnswer> {
    if (this.#waiting >= MAX_WAITING) {
      return { problem: "other trials are running: try again later" };
    }
    this.#waiting++;
    const result = this.#running.then(() => this.#run(trial, last))
      .finally(() => this.#waiting--);
    this.#running = result.catch(() => {});
    return await result;
  }

  async #run(trial: Trial, last: number): Promise<TrialAnswer> {
    const sources = this.#options.history.current;
    if (sources.length === 0) {
      return { problem: "this gateway has no configuration files" };
    }
    const current = await this.#load(sources);
    const changed = await this.#changeOf(trial, current);
    if ("problem" in changed) return changed;
    const requests = await this.#options.dataPlane.call(
      "replayable",
      Math.min(last, MAX_TRIED),
    );
    const before = await replay(current, requests);
    if ("problem" in before) return before;
    const after = await replay(changed.candidate, requests, changed.extra);
    if ("problem" in after) return after;
    return reportTrial(requests, before.outcomes, after.outcomes);
  }

  /** Returns the configuration to compare with, and what is tried beside it. */
  async #changeOf(
    trial: Trial,
    current: Candidate,
  ): Promise<ChangedConfiguration | { readonly problem: string }> {
    switch (trial.kind) {
      case "rule":
        return await tryPolicy(current, trial.route, "before", async (hide) => {
          const { code } = await import(
            "../policy/authorization/authorization_policy.ts"
          );
          const config = read(authorizationSchema, trial.authorization);
          if ("problem" in config) return config;
          return problemOf(code.check(config.value, { hide })) ??
            ((options) => code.create(config.value, options));
        });
      case "limit":
        return await tryPolicy(current, trial.route, "after", async (hide) => {
          const { code } = await import(
            "../policy/rate_limit/rate_limit_policy.ts"
          );
          const config = read(rateLimitSchema, trial.rateLimit);
          if ("problem" in config) return config;
          const check = { hide, readFile: readNothing };
          return problemOf(code.check(config.value, check)) ??
            ((options) =>
              code.create([{ scope: "trial", config: config.value, options }]));
        });
      case "config":
        return { candidate: await this.#load(trial.files) };
      case "draft": {
        const { candidate, result } = await this.#options.editor.open(
          trial.draft,
        );
        return candidate === undefined
          ? { problem: result.problem ?? "the draft cannot be read" }
          : { candidate };
      }
    }
  }

  #load(sources: readonly ConfigText[]): Promise<Candidate> {
    const source = {
      read: () => Promise.resolve(sources),
      watch: () => Promise.reject(new TypeError("a trial has no changes")),
    };
    return loadCandidate(source, this.#options);
  }
}

/** Further trials are rejected. */
const MAX_WAITING = 4;

interface ChangedConfiguration {
  readonly candidate: Candidate;
  readonly extra?: (services: ReplayServices) => ExtraPolicy;
}

type CreatePolicy = (options: PolicyOptions) => Policy;

async function tryPolicy(
  candidate: Candidate,
  route: string | undefined,
  place: ExtraPolicy["place"],
  load: (
    hide: PolicyOptions["hide"],
  ) => Promise<CreatePolicy | { readonly problem: string }>,
): Promise<ChangedConfiguration | { readonly problem: string }> {
  const hide = createHiding(candidate.loaded.resources.environment);
  const create = await load(hide);
  if (typeof create !== "function") return create;
  return {
    candidate,
    extra: ({ services }) => ({
      place,
      route,
      policy: create({
        hide,
        services,
        readFile: readNothing,
        readSecret: readNothing,
        connectionOf: () => undefined,
        listenerPort: 0,
        owner: "trial",
      }),
    }),
  };
}

function readNothing(): never {
  throw new TypeError("a trial reads no files");
}

function read<S extends GenericSchema>(
  schema: S,
  given: unknown,
): { readonly value: Infer<S> } | { readonly problem: string } {
  const validated = validate(schema, given);
  if (validated.ok) return { value: validated.value };
  return { problem: textOf(validated.problems) };
}

function problemOf(
  problems: readonly PolicyProblem[],
): { readonly problem: string } | undefined {
  const errors = problems.filter(({ isWarning }) => isWarning !== true);
  return errors.length === 0 ? undefined : { problem: textOf(errors) };
}

function textOf(
  problems: readonly Pick<PolicyProblem, "path" | "message">[],
): string {
  return problems.map(({ path, message }) => {
    const place = formatPath(path);
    return place === "" ? message : `${place}: ${message}`;
  }).join("\n");
}

/** Compiles a configuration with services of its own, and replays requests; the clock of the requests is not that of the work. */
async function replay(
  candidate: Candidate,
  requests: readonly ReplayableRequest[],
  extra?: ChangedConfiguration["extra"],
): Promise<
  { readonly outcomes: readonly ReplayOutcome[] } | { readonly problem: string }
> {
  const { Replay, ReplayTimeError } = await import("./trial/replay.ts");
  const { ReplayServices } = await import("./trial/replay_services.ts");
  const { sensitiveHeaders } = candidate.loaded.settings;
  const services = new ReplayServices(sensitiveHeaders);
  const lease = {
    services: services.services,
    ready: () => Promise.resolve(),
    release() {},
  };
  const compiled = await compileCandidate(
    candidate,
    new Compilations(() => lease),
  );
  const errors = diagnosticsOf(candidate, compiled).filter(isError);
  if (errors.length > 0) {
    return { problem: formatDiagnostics(errors, candidate.sources) };
  }
  const { snapshot } = compiled;
  const run = new Replay({
    snapshot,
    services,
    clock: systemClock,
    extra: extra?.(services),
  });
  try {
    return { outcomes: await run.run(requests) };
  } catch (error) {
    if (error instanceof ReplayTimeError) return { problem: error.message };
    throw error;
  }
}
