import { systemClock } from "../../base/clock.ts";
import { runInSlices } from "../../base/slices.ts";
import type { ConfigurationSource } from "../../config/configuration_source.ts";
import {
  type ConfigText,
  type Diagnostic,
  formatDiagnostic,
  isError,
} from "../../config/diagnostics/located_diagnostic.ts";
import {
  findPrivateScalars,
  type SourceScalars,
} from "../../config/source_secrets.ts";
import {
  type Candidate,
  type CandidateOptions,
  checkCandidate,
  describeCandidate,
  loadCandidate,
  schemasOf,
} from "../candidate/candidate.ts";
import { configurationChanges } from "./configuration_changes.ts";
import { SourceWriter, type WriterOptions } from "./source_writer.ts";
import { HiddenSecrets } from "./hidden_secrets.ts";

/** The source of the configuration in force, without secrets. */
export interface ShownSource {
  /** SHA-256 of the configuration, hexadecimal. */
  readonly hash: string;
  readonly files: readonly ConfigText[];
  /** The source can be replaced. */
  readonly isWritable: boolean;
}

/** A changed file of the source. */
export interface Draft {
  /** Hash of the configuration that it was made of. */
  readonly hash: string;
  readonly name: string;
  /** Secrets may be the placeholders of `ShownSource`, in the same fields. */
  readonly text: string;
}

/** The outcome of `check` and `apply`. */
export interface DraftResult {
  readonly diagnostics: readonly Diagnostic[];
  /** Reason why the draft was not taken, besides its diagnostics. */
  readonly problem?: string;
}

/** A configuration that is or was in force. */
export interface ShownPast {
  readonly hash: string;
  /** RFC 3339. */
  readonly appliedAt: string;
  /** Names of its files. */
  readonly files: readonly string[];
}

/** The changes that a draft makes. */
export interface DraftChanges {
  /** See `configurationChanges`. */
  readonly changes: readonly string[];
  /** Reason why there is no comparison. */
  readonly problem?: string;
}

/** Dependencies of an editor. */
export interface EditorOptions extends CandidateOptions, WriterOptions {}

/** Shows the source of a configuration without its secrets, checks drafts, and writes them. */
export class ConfigurationEditor {
  readonly #options: EditorOptions;
  readonly #writer: SourceWriter;
  #known: {
    readonly hash: string;
    readonly secrets: HiddenSecrets;
    readonly shown: ShownSource;
    /** See `Settings`. */
    readonly sensitiveHeaders: readonly string[];
  } | undefined;

  constructor(options: EditorOptions) {
    this.#options = options;
    this.#writer = new SourceWriter(options);
  }

  /** Returns the source in force. */
  async read(): Promise<ShownSource> {
    return (await this.#openSource()).shown;
  }

  /** Returns what is wrong with a draft; nothing changes. Rejects early once `signal` aborts: an editor checks each pause in typing. */
  async check(draft: Draft, signal?: AbortSignal): Promise<DraftResult> {
    const { result } = await this.open(draft, signal);
    return result;
  }

  /** Says what a draft changes, or why it cannot be compared. */
  async compare(draft: Draft): Promise<DraftChanges> {
    const { candidate, result } = await this.open(draft);
    const hasErrors = result.diagnostics.some(isError);
    if (candidate === undefined || hasErrors) {
      return { changes: [], problem: result.problem ?? "the draft has errors" };
    }
    return { changes: await this.#changesTo(candidate) };
  }

  /** Lists the configurations that were in force, newest first. */
  list(): readonly ShownPast[] {
    return this.#options.history.all.map(({ hash, appliedAt, sources }) => ({
      hash,
      appliedAt: new Date(appliedAt).toISOString(),
      files: sources.map(({ name }) => name),
    }));
  }

  /** Says what going back to a configuration changes. */
  async compareWithPast(hash: string): Promise<DraftChanges> {
    const past = this.#options.history.find(hash);
    if (past === undefined) return { changes: [], problem: FORGOTTEN };
    const candidate = await this.#candidateOf(past.sources);
    const errors = (await checkCandidate(candidate)).filter(isError);
    return errors.length === 0
      ? { changes: await this.#changesTo(candidate) }
      : { changes: [], problem: "it has errors now" };
  }

  /** Says what the files as they are now would change, or why they cannot be in force. */
  async compareWithFiles(): Promise<DraftChanges> {
    const candidate = await loadCandidate(this.#options.source, this.#options);
    const [first, ...others] = (await checkCandidate(candidate)).filter(
      isError,
    );
    if (first === undefined) {
      return { changes: await this.#changesTo(candidate) };
    }
    const more = others.length === 0
      ? ""
      : `, and ${others.length} more errors`;
    return { changes: [], problem: `${formatDiagnostic(first)}${more}` };
  }

  /** Writes the files of a configuration that was in force, and applies them. @param current Hash of the one in force. */
  async goBack(hash: string, current: string): Promise<DraftResult> {
    const { history } = this.#options;
    const past = history.find(hash);
    if (past === undefined) return rejected(FORGOTTEN);
    if (history.all[0]?.hash !== current) return rejected(CHANGED);
    const files = (sources: readonly ConfigText[]) =>
      sources.map(({ name }) => name).join("\n");
    if (files(past.sources) !== files(history.current)) {
      return rejected("files were added or removed since");
    }
    const candidate = await this.#candidateOf(past.sources);
    const diagnostics = (await checkCandidate(candidate)).filter(isError);
    if (diagnostics.length > 0) return { diagnostics };
    const changed = past.sources.filter(({ name, text }) =>
      history.current.some((each) => each.name === name && each.text !== text)
    );
    const problem = await this.#writer.write(changed);
    return { diagnostics, ...problem !== undefined && { problem } };
  }

  async #changesTo(candidate: Candidate): Promise<readonly string[]> {
    const current = await this.#candidateOf(this.#options.history.current);
    // A header that one of them hides may have the same value in the other.
    const sensitive = [current, candidate].flatMap(({ loaded }) =>
      loaded.settings.sensitiveHeaders
    );
    return configurationChanges(
      await describeCandidate(current, sensitive),
      await describeCandidate(candidate, sensitive),
    );
  }

  /** Writes a draft without errors to its file, and applies it. */
  async apply(draft: Draft): Promise<DraftResult> {
    const { text, result } = await this.open(draft);
    if (text === undefined || result.diagnostics.some(isError)) return result;
    const problem = await this.#writer.write([{ name: draft.name, text }]);
    return { ...result, ...problem !== undefined && { problem } };
  }

  /** Reads a draft with its secrets; without a candidate, `result` says why. */
  async open(
    draft: Draft,
    signal?: AbortSignal,
  ): Promise<
    {
      readonly text?: string;
      readonly candidate?: Candidate;
      readonly result: DraftResult;
    }
  > {
    const reject = (problem: string) => ({ result: rejected(problem) });
    const { hash, secrets, shown, sensitiveHeaders } = await this.#openSource();
    if (draft.hash !== hash) return reject(CHANGED);
    const sources = this.#options.history.current;
    const place = sources.findIndex(({ name }) => name === draft.name);
    const source = sources[place];
    if (source === undefined) {
      return reject(`"${draft.name}" is no file of the configuration`);
    }
    const isUnchanged = draft.text === shown.files[place]?.text;
    const { text, restored, toDraft } = isUnchanged
      ? secrets.restoreAll(source)
      : secrets.restore(
        draft.text,
        await this.#scalarsOf(draft, sensitiveHeaders, signal),
      );
    const candidate = await this.#candidateOf(
      sources.map((each) =>
        each.name === draft.name ? { ...each, text } : each
      ),
      signal,
    );
    const found = await runInSlices(
      candidate.loaded.findSecrets(),
      systemClock,
    );
    const secret = new Set(found[place]?.private.map(({ start }) => start));
    if (!restored.every((start) => secret.has(start))) {
      return reject(
        "a <redacted> value was moved to a place where it would be shown",
      );
    }
    const diagnostics = (await checkCandidate(candidate)).map((each) => ({
      ...each,
      ...(each.file === draft.name &&
        moveLocation(each, text, draft.text, toDraft)),
      message: secrets.clean(each.message),
    }));
    return { text, candidate, result: { diagnostics } };
  }

  async #openSource() {
    const {
      hash = "",
      sources = [],
      sensitiveHeaders = [],
      secrets: found = [],
    } = this.#options.history.all[0] ?? {};
    if (this.#known?.hash === hash) return this.#known;
    const secrets = new HiddenSecrets(sources, found);
    const isWritable = await this.#options.source.isWritable?.() ?? false;
    const files = sources.map((each) => ({
      ...each,
      text: secrets.hide(each),
    }));
    const shown = { hash, files, isWritable };
    return this.#known = { hash, secrets, shown, sensitiveHeaders };
  }

  #scalarsOf(
    source: ConfigText,
    sensitiveHeaders: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<SourceScalars> {
    const schemas = schemasOf(this.#options.policies);
    return runInSlices(
      findPrivateScalars(source, { schemas, sensitiveHeaders }),
      systemClock,
      signal,
    );
  }

  #candidateOf(
    sources: readonly ConfigText[],
    signal?: AbortSignal,
  ): Promise<Candidate> {
    const source: ConfigurationSource = {
      read: () => Promise.resolve(sources),
      watch: () => Promise.reject(new TypeError("a draft has no changes")),
    };
    return loadCandidate(source, { ...this.#options, signal });
  }
}

const CHANGED = "the configuration has changed: load it again";
const FORGOTTEN = "this configuration is no longer remembered";

function rejected(problem: string): DraftResult {
  return { diagnostics: [], problem };
}

/** Converts a location in a text with secrets to that in the draft, whose lines may be fewer. */
function moveLocation(
  { line, column }: Pick<Diagnostic, "line" | "column">,
  text: string,
  draft: string,
  toDraft: (offset: number) => number,
): Pick<Diagnostic, "line" | "column"> {
  let start = 0;
  for (let count = 1; count < line; count++) {
    start = text.indexOf("\n", start) + 1;
  }
  const before = draft.slice(0, toDraft(start + column - 1)).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
