import { ProbeError } from "./probe.ts";

/** Steps of a login in the order in which clients take them. */
export const loginSteps = [
  "challenge",
  "resource metadata",
  "server metadata",
  "registration",
  "authorization",
  "login",
  "MCP",
] as const;

/** A step of a login. */
export type LoginStep = (typeof loginSteps)[number];

/** Result of one check of a server. */
export interface Finding {
  readonly step: LoginStep;
  /** `error`: no client gets in, or those that are named in `clients`. */
  readonly verdict: "ok" | "warning" | "error";
  /** Name of the check for programs, such as `issuer-mismatch`. */
  readonly id: string;
  /** The rule, such as `The challenge names the resource metadata`. */
  readonly rule: string;
  /** Source of the rule, such as `RFC 9728 section 5.1`. */
  readonly source: string;
  readonly seen: string;
  readonly fix?: string;
  /** It follows from what the metadata say, and was not tried. */
  readonly isProbable?: true;
}

/** A check, without its step and result. */
type Check = Omit<Finding, "step" | "verdict">;

/** Collects the findings of one examination. */
export class Findings {
  readonly #all: Finding[] = [];

  get all(): readonly Finding[] {
    return this.#all;
  }

  /** Returns the failed check with this ID. */
  failed(id: string): Finding | undefined {
    return this.#all.find((finding) =>
      finding.id === id && finding.verdict !== "ok"
    );
  }

  /** Returns the findings of a step, to be added to. */
  at(step: LoginStep): StepFindings {
    return new StepFindings(step, (finding) => this.#all.push(finding));
  }
}

/** Adds the findings of one step. */
export class StepFindings {
  readonly #step: LoginStep;
  readonly #add: (finding: Finding) => void;

  constructor(step: LoginStep, add: (finding: Finding) => void) {
    this.#step = step;
    this.#add = add;
  }

  /** Adds a check that is either met, or fails with `fix` as the remedy; returns whether it is met. */
  check(
    isMet: boolean,
    check: Check,
    otherwise: "warning" | "error" = "error",
  ): boolean {
    const { fix, ...rest } = check;
    this.#add({
      step: this.#step,
      verdict: isMet ? "ok" : otherwise,
      ...rest,
      ...(!isMet && fix !== undefined && { fix }),
    });
    return isMet;
  }

  /** Returns what a request results in; adds a failed check and returns `undefined` if the server cannot be reached. */
  async reach<T>(
    request: () => Promise<T>,
    check: Omit<Check, "seen"> | ((message: string) => Omit<Check, "seen">),
    place = "",
  ): Promise<T | undefined> {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof ProbeError)) throw error;
      const { message } = error;
      const failed = typeof check === "function" ? check(message) : check;
      this.check(false, { ...failed, seen: place + message });
      return undefined;
    }
  }
}
