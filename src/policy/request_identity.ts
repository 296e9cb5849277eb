/** Who a request comes from, as far as authentication has found out; later policies and expressions read it. */
export interface RequestIdentity {
  /** Verified claims of the token: `jwt` in expressions. */
  jwt?: Readonly<Record<string, unknown>>;
  /** Metadata of the API key, and never the key itself: `apiKey` in expressions. */
  apiKey?: Readonly<Record<string, unknown>>;
  /** `{ username }` of the verified user: `basicAuth` in expressions. */
  basicAuth?: Readonly<Record<string, unknown>>;
}
