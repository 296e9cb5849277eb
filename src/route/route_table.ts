/** What routing looks at. */
export interface RoutableRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** Lower case, without port. */
  readonly hostname: string;
  /** First value of a header by its lower-case name. */
  header(name: string): string | undefined;
}

/** A route that fits, and how. */
export interface RouteMatch<T> {
  readonly value: T;
  /** Path that matched by prefix, without trailing slash, such as `/v1`; `undefined` for other matches. */
  readonly matchedPrefix: string | undefined;
}

/** Finds the route of highest precedence for a request. */
export interface RouteTable<T> {
  find(request: RoutableRequest): RouteMatch<T> | undefined;
}
