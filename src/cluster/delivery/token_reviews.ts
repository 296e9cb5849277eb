import { type JsonObject, listAt, objectAt, valueAt } from "../../base/json.ts";
import type { KubernetesApi } from "../client/kubernetes_api.ts";

/** Reviews under way at most: strangers must not keep the API server busy. */
const MAX_REVIEWS = 32;

/** Too many reviews are under way. */
export class TooManyReviewsError extends Error {
  override readonly name = "TooManyReviewsError";
}

/** Finds out whose tokens requests have. */
export class TokenReviews {
  readonly #api: KubernetesApi;
  readonly #audience: string;
  readonly #prefix: string;
  #count = 0;

  /** @param audience Tokens for others are rejected. @param namespace That of the service accounts. */
  constructor(
    { api, audience, namespace }: {
      readonly api: KubernetesApi;
      readonly audience: string;
      readonly namespace: string;
    },
  ) {
    this.#api = api;
    this.#audience = audience;
    this.#prefix = `system:serviceaccount:${namespace}:`;
  }

  /**
   * Returns the name of the service account that a token is of; `undefined` when the token is not valid here.
   * @throws {TooManyReviewsError}
   * @throws {Error} When the API server cannot be asked.
   */
  async accountOf(token: string): Promise<string | undefined> {
    if (this.#count >= MAX_REVIEWS) throw new TooManyReviewsError();
    this.#count++;
    try {
      const review = await this.#api.request({
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/tokenreviews",
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token, audiences: [this.#audience] },
        },
      });
      return this.#read(objectAt(review, "status"));
    } finally {
      this.#count--;
    }
  }

  #read(status: JsonObject): string | undefined {
    // An authenticator that knows no audiences returns none.
    const isForUs = status["authenticated"] === true &&
      listAt(status, "audiences").includes(this.#audience);
    const name = String(valueAt(status, "user", "username"));
    return isForUs && name.startsWith(this.#prefix)
      ? name.slice(this.#prefix.length)
      : undefined;
  }
}
