import { RawConnection } from "./raw_upstream.ts";

/** A client's connection to a port of this machine, in the hands of a test. */
export async function connectRaw(port: number): Promise<RawConnection> {
  return new RawConnection(
    await Deno.connect({ hostname: "127.0.0.1", port }),
  );
}

/** Sends one request as it stands and reads the whole answer of a stated length. */
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

/** Status of a raw response, such as 200. */
export function statusOf(response: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(response)?.[1]);
}
