/** Response of a fixture at a path: a status with a JSON body, or a whole response. */
export type FixtureAnswer =
  | { readonly status?: number; readonly json: unknown }
  | Response;

/** An MCP server and its authorization server in one, sound unless parts are replaced. */
export interface OAuthFixture extends AsyncDisposable {
  readonly origin: string;
  readonly url: string;
}

/** Answers by path; they get the origin of the fixture. */
export type FixtureFaults = Readonly<
  Record<string, (origin: string, request: Request) => FixtureAnswer>
>;

/** Path of each part, so that a test can replace it. */
export const fixturePaths = {
  mcp: "/mcp",
  resource: "/.well-known/oauth-protected-resource/mcp",
  server: "/.well-known/oauth-authorization-server/as",
  register: "/as/register",
  authorize: "/as/authorize",
  token: "/as/token",
} as const;

/** Starts a fixture on a free port. */
export function startOAuthFixture(faults: FixtureFaults = {}): OAuthFixture {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { pathname, origin } = new URL(request.url);
      const answer = faults[pathname] ?? sound[pathname];
      return answer === undefined
        ? new Response(null, { status: 404 })
        : toResponse(answer(origin, request));
    },
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Resource metadata without a fault. */
export function soundResource(origin: string): Record<string, unknown> {
  return {
    resource: `${origin}/mcp`,
    authorization_servers: [`${origin}/as`],
  };
}

/** Authorization server metadata without a fault. */
export function soundServer(origin: string): Record<string, unknown> {
  return {
    issuer: `${origin}/as`,
    authorization_endpoint: `${origin}/as/authorize`,
    token_endpoint: `${origin}/as/token`,
    registration_endpoint: `${origin}/as/register`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
  };
}

/** A 401 with this challenge. */
export function challenge(header: string | undefined): Response {
  return new Response("{}", {
    status: 401,
    headers: header === undefined ? {} : { "www-authenticate": header },
  });
}

const sound: FixtureFaults = {
  [fixturePaths.mcp]: (origin) =>
    challenge(
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    ),
  [fixturePaths.resource]: (origin) => ({ json: soundResource(origin) }),
  [fixturePaths.server]: (origin) => ({ json: soundServer(origin) }),
  [fixturePaths.register]: () => ({
    status: 201,
    json: {
      client_id: "c1",
      redirect_uris: ["http://127.0.0.1:33418/callback"],
    },
  }),
  [fixturePaths.authorize]: () =>
    new Response("<form>", { headers: { "content-type": "text/html" } }),
};

function toResponse(answer: FixtureAnswer): Response {
  if (answer instanceof Response) return answer;
  return Response.json(answer.json, {
    status: answer.status ?? 200,
    headers: { "access-control-allow-origin": "*" },
  });
}
