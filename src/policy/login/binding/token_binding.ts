import type { Clock } from "../../../base/clock.ts";
import { describeError } from "../../../base/errors.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import type { RequestMessage } from "../../../http/message.ts";
import { DocumentUnavailableError } from "../../../identity/documents/remote_document.ts";
import type { LoginState } from "../../../identity/oauth/grants/login_state.ts";
import {
  type DpopProof,
  verifyProof,
} from "../../../identity/tokens/dpop_proof.ts";
import { TokenError } from "../../../identity/tokens/token.ts";
import { defineSlot, type Slots } from "../../contract/slot.ts";
import { DpopNonces } from "./dpop_nonces.ts";
import type { TokenBindingConfig } from "./token_binding_schema.ts";

/** A token that its client has not proven to be its own. */
export class TokenBindingError extends TokenError {
  /** @param code Error of the challenge. */
  constructor(
    readonly code: "invalid_token" | "invalid_dpop_proof" | "use_dpop_nonce",
    message: string,
    /** Nonce for the next proof. */
    readonly nonce?: string,
  ) {
    super(message);
  }
}

/** Nobody knows whether a proof was used before. */
export class ProofUnavailableError extends DocumentUnavailableError {}

/** A token as a request presents it. */
export interface PresentedToken {
  readonly token: string;
  /** Authentication scheme; `DPoP` promises a proof. */
  readonly scheme: "Bearer" | "DPoP";
  /** Fields `DPoP` of the request. */
  readonly proofs: readonly string[];
}

/** The request of a token, and its verified claims. */
export interface BoundRequest {
  readonly request: Pick<RequestMessage, "method" | "clientCertificate">;
  readonly claims: JsonObject;
  /** Returns the URL that the client has used. */
  url(): string;
  readonly slots: Slots;
}

/** The proof that another policy has checked for this request. */
const spentProof = defineSlot<string>("spentProof");

/** Dependencies of the checks. */
export interface TokenBindingOptions {
  readonly clock: Clock;
  readonly clockSkewMs: number;
  readonly logins: Pick<LoginState, "proofs" | "secret">;
}

const RETRY_AFTER_SECONDS = 2;

/** Checks that the client of a token has the key that the token is bound to. */
export class TokenBinding {
  readonly mode: TokenBindingConfig["mode"];
  readonly #options: TokenBindingOptions;
  readonly #nonces: DpopNonces | undefined;

  constructor(
    { mode, nonce }: TokenBindingConfig,
    options: TokenBindingOptions,
  ) {
    const { clock, logins } = options;
    this.mode = mode;
    this.#options = options;
    this.#nonces = nonce
      ? new DpopNonces(clock, () => logins.secret())
      : undefined;
  }

  /**
   * Checks a token; returns no promise for one that is not bound and need not be. Resolves to a nonce for the client's next proof,
   * if it should use a new one.
   * @throws {TokenBindingError} Also as a rejection.
   */
  check(
    presented: PresentedToken,
    bound: BoundRequest,
  ): Promise<string | undefined> | undefined {
    const { cnf } = bound.claims;
    if (this.mode === "Ignore") return undefined;
    if (cnf === undefined && presented.scheme === "Bearer") {
      if (this.mode === "Enforce") return undefined;
      throw invalid("the token is not bound to a key of the client");
    }
    return this.#check(presented, bound);
  }

  async #check(
    presented: PresentedToken,
    bound: BoundRequest,
  ): Promise<string | undefined> {
    const { claims: { cnf }, request } = bound;
    const { jkt, "x5t#S256": certificate } = isJsonObject(cnf) ? cnf : {};
    const isProven = presented.scheme === "DPoP";
    if (certificate === undefined && jkt === undefined) {
      throw invalid(
        cnf === undefined
          ? "the token is not bound to the key of a DPoP proof"
          : "the token is bound to a key in a way that is not supported",
      );
    }
    if (
      certificate !== undefined && certificate !== request.clientCertificate
    ) throw invalid("the token is bound to another client certificate");
    if (jkt === undefined) {
      if (!isProven) return undefined;
      throw invalid("the token is not bound to the key of a DPoP proof");
    }
    if (typeof jkt !== "string") throw invalid("the token has no valid jkt");
    if (!isProven) {
      throw invalid(
        "the token is bound to a key: the scheme has to be DPoP, with a proof",
      );
    }
    return await this.#prove(jkt, presented, bound);
  }

  async #prove(
    thumbprint: string,
    { token, proofs }: PresentedToken,
    { request: { method }, url, slots }: BoundRequest,
  ): Promise<string | undefined> {
    const { clock, clockSkewMs } = this.#options;
    const [text, ...others] = proofs;
    if (text === undefined || others.length > 0) {
      throw new TokenBindingError(
        "invalid_dpop_proof",
        "the request needs exactly one DPoP proof",
        await this.#nonces?.current().catch(unavailable),
      );
    }
    const now = clock.now();
    const expected = {
      method,
      url: url(),
      token,
      thumbprint,
      now,
      clockSkewMs,
    };
    const proof = await verifyProof(text, expected).catch((error) => {
      if (!(error instanceof TokenError)) throw error;
      throw new TokenBindingError("invalid_dpop_proof", error.message);
    });
    const next = await this.#checkNonce(proof).catch(unavailable);
    if (slots.get(spentProof) !== text) await this.#spend(thumbprint, proof);
    slots.set(spentProof, text);
    return next;
  }

  async #checkNonce({ nonce }: DpopProof): Promise<string | undefined> {
    if (this.#nonces === undefined) return undefined;
    const rating = nonce === undefined
      ? "unknown"
      : await this.#nonces.rate(nonce);
    if (rating === "current") return undefined;
    const current = await this.#nonces.current();
    if (rating === "old") return current;
    throw new TokenBindingError(
      "use_dpop_nonce",
      "the DPoP proof needs the nonce of this response",
      current,
    );
  }

  /** Last of all checks: nobody without the key can fill the memory, or use up the ID of another's proof. */
  async #spend(
    thumbprint: string,
    { id, expiresAt }: DpopProof,
  ): Promise<void> {
    const { proofs } = this.#options.logins;
    if (await proofs.spend(thumbprint, id, expiresAt).catch(unavailable)) {
      return;
    }
    throw new TokenBindingError(
      "invalid_dpop_proof",
      "the DPoP proof was used before",
    );
  }
}

function invalid(message: string): TokenBindingError {
  return new TokenBindingError("invalid_token", message);
}

function unavailable(error: unknown): never {
  if (error instanceof TokenBindingError) throw error;
  throw new ProofUnavailableError(
    `Cannot check the DPoP proof: ${describeError(error)}`,
    RETRY_AFTER_SECONDS,
  );
}
