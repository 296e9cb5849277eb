import { createAuthority } from "../login/certificates.ts";

/** The smallest PNG. */
export const png = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
);

/** A server of images with TLS. */
export interface MediaServer extends AsyncDisposable {
  /** Such as `https://localhost:40123`. */
  readonly origin: string;
  /** Such as `localhost:40123`. */
  readonly host: string;
  /** Certificate (PEM) of its authority. */
  readonly authority: string;
  /** Paths that were requested. */
  readonly paths: readonly string[];
  /** Header fields of the requests. */
  readonly headers: readonly Headers[];
}

/** Starts a server of images; its certificate is for `localhost`, `127.0.0.1` and `cdn.example`. */
export async function startMediaServer(
  respond: (path: string) => Response | Promise<Response>,
): Promise<MediaServer> {
  const authority = await createAuthority();
  const names = ["localhost", "127.0.0.1", "cdn.example"];
  const paths: string[] = [];
  const headers: Headers[] = [];
  const server = Deno.serve(
    {
      port: 0,
      hostname: "127.0.0.1",
      onListen: () => undefined,
      ...await authority.issueServer(names),
    },
    (request) => {
      const { pathname } = new URL(request.url);
      paths.push(pathname);
      headers.push(new Headers(request.headers));
      return respond(pathname);
    },
  );
  const host = `localhost:${server.addr.port}`;
  return {
    origin: `https://${host}`,
    host,
    authority: authority.cert,
    paths,
    headers,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
