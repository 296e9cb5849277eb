import { RawConnection } from "./raw_upstream.ts";

/** Connects to a port of 127.0.0.1. */
export async function connectRaw(port: number): Promise<RawConnection> {
  return new RawConnection(
    await Deno.connect({ hostname: "127.0.0.1", port }),
  );
}

/** Sends one request unchanged and reads the whole response, which has a Content-Length. */
export async function exchangeRaw(
  port: number,
  request: string,
): Promise<string> {
  const connection = await connectRaw(port);
  try {
    await connection.send(request);
    return await connection.request();
  } finally {
    connection.close();
  }
}

/** Returns the status of a raw response. */
export function statusOf(response: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1]);
}
