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
}

/** Collects the findings of one examination. */
export class Findings {
  readonly #all: Finding[] = [];

  get all(): readonly Finding[] {
    return this.#all;
  }

  /** Returns whether a check with this ID failed. */
  has(id: string): boolean {
    return this.#all.some((finding) =>
      finding.id === id && finding.verdict !== "ok"
    );
  }

  add(finding: Finding): void {
    this.#all.push(finding);
  }

  /** Adds a check that is either met, or fails with `fix` as the remedy; returns whether it is met. */
  check(
    isMet: boolean,
    finding: Omit<Finding, "verdict"> & {
      readonly otherwise?: "warning" | "error";
    },
  ): boolean {
    const { otherwise = "error", fix, ...rest } = finding;
    this.add(
      isMet
        ? { ...rest, verdict: "ok" }
        : { ...rest, verdict: otherwise, ...(fix !== undefined && { fix }) },
    );
    return isMet;
  }
}
