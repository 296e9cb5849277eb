/** What the tests use of `@grpc/proto-loader`, whose own types bring those of Node.js, which disagree with Deno's. */

export function loadSync(
  path: string,
  options: Readonly<Record<string, unknown>>,
): unknown;
