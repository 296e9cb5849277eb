import type { ResourceDiagnostic } from "../base/diagnostic.ts";
import type { Compiled } from "../compile/compile.ts";
import type { Outcomes } from "../compile/outcomes/outcomes.ts";
import { isError } from "../config/diagnostics/located_diagnostic.ts";
import type {
  Listeners,
  PlannedPort,
  PreparedPorts,
} from "../proxy/ports/listeners.ts";

/** Dependencies of a staged configuration. */
export interface StagedConfigurationOptions {
  readonly compiled: Compiled;
  /** See `ResourceSet.isolatesErrors`. */
  readonly isolatesErrors: boolean;
  readonly listeners: Listeners;
  /** False: the configuration is compiled, and opens no port. */
  readonly opensPorts: boolean;
  /** Puts the configuration into force. */
  readonly swap: () => void;
  /** Releases what only this configuration uses. */
  readonly abandon: () => void;
}

/**
 * A compiled configuration that is not in force yet. Every step that can fail comes before `commit`; exactly one of `commit`
 * and `abandon` ends it.
 */
export class StagedConfiguration {
  readonly #options: StagedConfigurationOptions;
  #ports: PreparedPorts | undefined;

  constructor(options: StagedConfigurationOptions) {
    this.#options = options;
  }

  get diagnostics(): readonly ResourceDiagnostic[] {
    return this.#options.compiled.diagnostics;
  }

  get outcomes(): Outcomes {
    return this.#options.compiled.outcomes;
  }

  get isValid(): boolean {
    return this.#options.isolatesErrors || !this.diagnostics.some(isError);
  }

  get #portSpecs(): Compiled["snapshot"]["ports"] {
    const { compiled, opensPorts } = this.#options;
    return opensPorts ? compiled.snapshot.ports : [];
  }

  /** Returns what `open` will do. */
  plan(): readonly PlannedPort[] {
    return this.#options.listeners.plan(this.#portSpecs);
  }

  /**
   * Opens the new ports; requests on them wait for `commit`.
   * @param claimed Port numbers to open in place of those of the configuration, by `Port.key`.
   * @throws {PortError} When a port cannot be opened.
   */
  async open(claimed?: ReadonlyMap<string, number>): Promise<void> {
    const { listeners } = this.#options;
    this.#ports = await listeners.prepare(this.#portSpecs, claimed);
  }

  /** Puts the configuration into force and drains the ports that are gone. */
  commit(): void {
    this.#options.swap();
    this.#ports?.adopt();
  }

  /** Closes the new ports. */
  async abandon(): Promise<void> {
    this.#options.abandon();
    await this.#ports?.abandon();
  }
}
