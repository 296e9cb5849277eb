import { describeError } from "../base/errors.ts";
import type { ConfigurationSource } from "../config/configuration_source.ts";
import {
  type ConfigText,
  type Diagnostic,
  isError,
} from "../config/diagnostics/located_diagnostic.ts";
import {
  type Candidate,
  type CandidateOptions,
  checkCandidate,
  loadCandidate,
} from "./candidate.ts";
import { HiddenSecrets, SecretError } from "./hidden_secrets.ts";

/** The source of the configuration in force, without secrets. */
export interface ShownSource {
  /** SHA-256 of the configuration, hexadecimal. */
  readonly hash: string;
  readonly files: readonly ConfigText[];
  /** Reason why `files` is empty although there is a source. */
  readonly problem?: string;
  /** The source can be replaced. */
  readonly isWritable: boolean;
}

/** A changed file of the source. */
export interface Draft {
  /** Hash of the configuration that it was made of. */
  readonly hash: string;
  readonly name: string;
  /** Secrets may be the markers of `ShownSource`. */
  readonly text: string;
}

/** The outcome of `check` and `apply`. */
export interface DraftResult {
  readonly diagnostics: readonly Diagnostic[];
  /** Reason why the draft was not taken, besides its diagnostics. */
  readonly problem?: string;
}

/** Dependencies of an editor. */
export interface EditorOptions extends CandidateOptions {
  readonly source: ConfigurationSource;
  /** Returns the source of the configuration in force. */
  readonly current: () => { hash: string; sources: readonly ConfigText[] };
  /** Reads and applies the source. */
  readonly reload: () => Promise<void>;
}

/** Shows the source of a configuration without its secrets, checks drafts, and writes them. */
export class ConfigurationEditor {
  readonly #options: EditorOptions;
  #known: {
    readonly hash: string;
    readonly secrets: HiddenSecrets;
    readonly shown: ShownSource;
  } | undefined;

  constructor(options: EditorOptions) {
    this.#options = options;
  }

  /** Returns the source in force. */
  async read(): Promise<ShownSource> {
    return (await this.#open()).shown;
  }

  /** Returns what is wrong with a draft; nothing changes. */
  async check(draft: Draft): Promise<DraftResult> {
    const { result } = await this.#load(draft);
    return result;
  }

  /** Writes a draft without errors to its file, and applies it. */
  async apply(draft: Draft): Promise<DraftResult> {
    const { text, result } = await this.#load(draft);
    if (text === undefined || result.diagnostics.some(isError)) return result;
    const { source, reload } = this.#options;
    // Asked again: a file may have become a link, which must not be replaced.
    if (source.write === undefined || !await source.isWritable?.()) {
      return { ...result, problem: "the source cannot be written" };
    }
    try {
      if (!await this.#isInForce()) {
        const problem =
          "the source has changed and is not in force: fix it where it was changed, or undo that";
        return { ...result, problem };
      }
      await source.write(draft.name, text);
    } catch (error) {
      return {
        ...result,
        problem: `Cannot write "${draft.name}": ${describeError(error)}`,
      };
    }
    await reload();
    return result;
  }

  /** Reports whether the source is still as it was applied: a draft must not overwrite what others write. */
  async #isInForce(): Promise<boolean> {
    const { sources } = this.#options.current();
    const found = await this.#options.source.read();
    return found.length === sources.length &&
      sources.every(({ name, text }) =>
        found.some((each) => each.name === name && each.text === text)
      );
  }

  async #load(
    draft: Draft,
  ): Promise<{ readonly text?: string; readonly result: DraftResult }> {
    const reject = (problem: string) => ({
      result: { diagnostics: [], problem },
    });
    const { hash, secrets, shown } = await this.#open();
    if (draft.hash !== hash) {
      return reject("the configuration has changed: load it again");
    }
    if (!shown.files.some(({ name }) => name === draft.name)) {
      return reject(`"${draft.name}" is no file of the configuration`);
    }
    let text: string;
    try {
      text = secrets.restore(draft.text);
    } catch (error) {
      if (error instanceof SecretError) return reject(error.message);
      throw error;
    }
    const { sources } = this.#options.current();
    const candidate = await this.#candidateOf(
      sources.map((each) =>
        each.name === draft.name ? { ...each, text } : each
      ),
    );
    if (secrets.areRevealedBy(candidate)) {
      return reject(
        "a <redacted> value was moved to a place where it would be shown",
      );
    }
    const diagnostics = (await checkCandidate(candidate)).map((each) => ({
      ...each,
      message: secrets.clean(each.message),
    }));
    return { text, result: { diagnostics } };
  }

  async #open() {
    const { hash, sources } = this.#options.current();
    if (this.#known?.hash === hash) return this.#known;
    const secrets = new HiddenSecrets(await this.#candidateOf(sources));
    const shown = await this.#show(hash, sources, secrets);
    return this.#known = { hash, secrets, shown };
  }

  async #show(
    hash: string,
    sources: readonly ConfigText[],
    secrets: HiddenSecrets,
  ): Promise<ShownSource> {
    const isWritable = await this.#options.source.isWritable?.() ?? false;
    const files = sources.map((each) => ({
      ...each,
      text: secrets.hide(each.text),
    }));
    if (secrets.areAllHidden) return { hash, files, isWritable };
    const problem =
      "the source is not shown: it writes a secret in a form that cannot be hidden; write it on one line, or as ${NAME}";
    return { hash, files: [], isWritable: false, problem };
  }

  #candidateOf(sources: readonly ConfigText[]): Promise<Candidate> {
    const source: ConfigurationSource = {
      read: () => Promise.resolve(sources),
      watch: () => Promise.reject(new TypeError("a draft has no changes")),
    };
    return loadCandidate(source, this.#options);
  }
}
