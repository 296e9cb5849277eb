import type { RequestMessage } from "../../../http/message.ts";
import {
  type CredentialPlace,
  credentialPlace,
} from "../../authentication/credential.ts";
import type { CredentialLocation } from "../../contract/credential_location.ts";
import type { PresentedToken } from "./token_binding.ts";

const dpopPlace = credentialPlace({
  header: { name: "authorization", prefix: "DPoP " },
});

/** The places of a token and of the proof that it belongs to the client. */
export class TokenPlaces {
  readonly #place: CredentialPlace;
  /** True if a token may have scheme `DPoP`; in other places there are no schemes. */
  readonly #hasScheme: boolean;
  readonly #removesToken: boolean;
  /** Header and prefix of a token that goes upstream. */
  readonly #header: { readonly name: string; readonly prefix: string };

  /** @param removesToken The token does not go upstream, and neither does its proof. */
  constructor(location: CredentialLocation | undefined, removesToken: boolean) {
    this.#place = credentialPlace(location);
    this.#hasScheme = location === undefined;
    this.#removesToken = removesToken;
    const { name, prefix = "" } = location?.header ??
      { name: "authorization", prefix: "Bearer " };
    this.#header = { name, prefix };
  }

  /** Puts the token of the provider in place of that of the gateway, which never goes upstream. */
  replace(request: RequestMessage, token: string | undefined): void {
    if (this.#removesToken) return;
    this.#place.remove(request);
    if (token === undefined) return;
    request.headers.set(this.#header.name, this.#header.prefix + token);
  }

  /** Reads the token of a request, and removes it if it must not go upstream. @throws {GatewayError} See `CredentialPlace.read`. */
  take(request: RequestMessage): PresentedToken | undefined {
    const proofs = request.headers.getAll("dpop");
    const token = this.#place.read(request);
    const bound = token === undefined && this.#hasScheme
      ? dpopPlace.read(request)
      : undefined;
    if (this.#removesToken) request.headers.delete("dpop");
    if (token !== undefined) {
      if (this.#removesToken) this.#place.remove(request);
      // A token elsewhere than in `Authorization` has no scheme: its proof alone says that there is one.
      const isProven = !this.#hasScheme && proofs.length > 0;
      return { token, scheme: isProven ? "DPoP" : "Bearer", proofs };
    }
    if (bound === undefined) return undefined;
    if (this.#removesToken) dpopPlace.remove(request);
    return { token: bound, scheme: "DPoP", proofs };
  }
}
