import { decodeJwt, decodeProtectedHeader } from "jose";
import * as oauth from "oauth4webapi";
import type { Idp } from "../../../cli/dev/idp/idp.ts";

/** Verifies proofs of requests to a service (RFC 9449) with `oauth4webapi`, each of which it accepts once and with its latest nonce. */
export class ProofVerifier {
  /** Public keys of the accepted proofs, by their coordinate `x`. */
  readonly keys: string[] = [];
  /** Reasons of rejected requests. */
  readonly rejections: string[] = [];
  /** Nonce that proofs need; `undefined` for none. */
  nonce: string | undefined = "first-nonce";
  readonly #idp: Pick<Idp, "origin" | "issuer" | "jwksPath">;
  readonly #used = new Set<string>();

  constructor(idp: Pick<Idp, "origin" | "issuer" | "jwksPath">) {
    this.#idp = idp;
  }

  /** Returns the response to a request without a valid proof; `undefined` for others. */
  async rejectionOf(
    request: Request,
    audience: string,
  ): Promise<Response | undefined> {
    const { issuer, origin, jwksPath } = this.#idp;
    const server = { issuer, jwks_uri: origin + jwksPath };
    try {
      await oauth.validateJwtAccessToken(server, request, audience, {
        requireDPoP: true,
        [oauth.allowInsecureRequests]: true,
      });
    } catch (error) {
      return this.#reject("invalid_token", String(error));
    }
    const proof = request.headers.get("dpop") ?? "";
    const { jti = "", nonce } = decodeJwt(proof);
    if (nonce !== this.nonce) return this.#reject("use_dpop_nonce", "nonce");
    if (this.#used.has(jti)) return this.#reject("invalid_dpop_proof", "used");
    this.#used.add(jti);
    this.keys.push(decodeProtectedHeader(proof).jwk?.x ?? "");
    return undefined;
  }

  #reject(error: string, reason: string): Response {
    this.rejections.push(`${error}: ${reason}`);
    return new Response("unproven", {
      status: 401,
      headers: {
        "www-authenticate": `DPoP error="${error}", algs="ES256"`,
        ...(this.nonce !== undefined && { "dpop-nonce": this.nonce }),
      },
    });
  }
}
