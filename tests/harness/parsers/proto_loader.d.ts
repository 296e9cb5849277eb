/** Types of the used part of `@grpc/proto-loader`; its own types include those of Node.js, which conflict with Deno's. */

export function loadSync(
  path: string | readonly string[],
  options: Readonly<Record<string, unknown>>,
): unknown;
