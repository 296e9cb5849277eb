import { systemClock } from "../../src/base/clock.ts";
import { describeError } from "../../src/base/errors.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import type { CallResult } from "../../src/dataplane/calls/calls.ts";
import { callerOf } from "../access/admin_caller.ts";
import { withOutcome } from "../access/audit_log.ts";
import { json, text } from "../http/admin_responses.ts";
import { both, get, post } from "../http/declare_endpoint.ts";
import { text as textParameter } from "../http/operation_text.ts";
import { InvalidParameter, requireKnown } from "../http/query_parameters.ts";
import { readTypedJson, textMember } from "../http/request_body.ts";
import type { Endpoint } from "../http/router.ts";
import type { AdminTarget } from "../target/target.ts";

/** A server with its tools. */
type DescribedServer = CallResult["mcpTools"][number];

/** Tools that are approved together. */
const MAX_TOOLS = 10_000;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

/** Lists the endpoints about MCP servers. */
export function mcpEndpoints(target: AdminTarget): readonly Endpoint[] {
  return [
    get("/mcp/servers", () => listMcpServers(target), {
      summary:
        "MCP servers of all backends: state, era, number of tools, last error",
      ok: "The servers",
    }),
    both(
      get("/mcp/tools", (request) => listMcpTools(target, request), {
        summary:
          "Tools of MCP servers: definitions, and which are held back or suspicious",
        parameters: [
          textParameter("backend", "Key of the backend; needs `server`"),
          textParameter("server", "Only the tools of this server"),
        ],
        ok: "The servers with their tools",
      }),
      post("/mcp/tools", (request) => approveMcpTools(target, request), {
        summary:
          'Approves tools of a server with `lock.trust`: the body is {"backend", "server", "tools": [{"name", "digest"}]}, with the digests of what was reviewed',
        ok: "The names of the tools",
        others: {
          400: "Invalid body",
          404: "No such server",
          409: "A tool has changed since, or the server has no `lock.trust`",
          503: "The store cannot be reached",
        },
      }),
    ),
    post("/mcp/tools/revoke", (request) => revokeMcpTools(target, request), {
      summary:
        'Revokes the approval of tools of a server with `lock.trust`: the body is {"backend", "server", "tools": [<name>]}',
      ok: "The names of the tools",
      others: {
        400: "Invalid body",
        404: "No such server",
        409: "The server has no `lock.trust`",
        503: "The store cannot be reached",
      },
    }),
  ];
}

/** Returns the MCP servers of all backends: state, era, number of tools, last error. */
export async function listMcpServers(target: AdminTarget): Promise<Response> {
  return json({ servers: await target.dataPlane.call("mcpServers") });
}

/** Returns the tools of the MCP servers of all backends, or of one server, for those who approve them. @throws {InvalidParameter} */
export async function listMcpTools(
  { dataPlane }: AdminTarget,
  { url }: Request,
): Promise<Response> {
  const query = new URL(url).searchParams;
  const usage = "usage: GET /mcp/tools?backend=<key>&server=<name>";
  requireKnown(query, ["backend", "server"], usage);
  const backend = query.get("backend");
  const server = query.get("server");
  if ((backend === null) !== (server === null)) {
    throw new InvalidParameter(`invalid query: ${usage}`);
  }
  const only = backend === null || server === null
    ? undefined
    : { backend, server };
  return json({ servers: await dataPlane.call("mcpTools", only) });
}

/** Approves tools of a server, each as it was when somebody reviewed it. @throws {InvalidParameter} */
export async function approveMcpTools(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const body = await readTypedJson(request, MAX_BODY_BYTES);
  const wanted = readTools(body);
  const names = [...wanted.keys()];
  return await change(target, { body, names, verb: "approved" }, {
    problemOf: (server) => problemOf(server, wanted),
    run: (place, { tools }) =>
      target.dataPlane.call(
        "approveMcpTools",
        place,
        new Map(
          tools.map(({ definition, digest }) =>
            [String(definition["name"]), { digest, definition }] as const
          ).filter(([name]) => wanted.has(name)),
        ),
      ),
  });
}

/** Revokes the approval of tools of a server, also of one that is down. @throws {InvalidParameter} */
export async function revokeMcpTools(
  target: AdminTarget,
  request: Request,
): Promise<Response> {
  const body = await readTypedJson(request, MAX_BODY_BYTES);
  const names = readNames(body);
  const revocation = {
    at: new Date(systemClock.now()).toISOString(),
    by: callerOf(request)?.user?.name,
  };
  return await change(target, { body, names, verb: "revoked" }, {
    problemOf: lockProblemOf,
    run: (place) =>
      target.dataPlane.call("revokeMcpTools", place, names, revocation),
  });
}

/** Changes what is approved of a server that the body names, if it has no problem. */
async function change(
  { dataPlane }: AdminTarget,
  { body, names, verb }: {
    readonly body: JsonObject;
    readonly names: readonly string[];
    readonly verb: "approved" | "revoked";
  },
  { problemOf, run }: {
    problemOf(server: DescribedServer): string | undefined;
    run(
      place: { readonly backend: string; readonly server: string },
      server: DescribedServer,
    ): Promise<unknown>;
  },
): Promise<Response> {
  const place = {
    backend: textMember(body, "backend"),
    server: textMember(body, "server"),
  };
  const [server] = await dataPlane.call("mcpTools", place);
  if (server === undefined) {
    return text(404, `no backend "${place.backend}" with such a server`);
  }
  const problem = problemOf(server);
  if (problem !== undefined) return text(409, problem);
  try {
    await run(place, server);
  } catch (error) {
    return text(503, `cannot change approvals: ${describeError(error)}`);
  }
  return withOutcome(
    json({ [verb]: names }),
    `${verb} ${place.backend} ${place.server}: ${names.join(", ")}`,
  );
}

function readTools({ tools }: JsonObject): ReadonlyMap<string, string> {
  const isList = Array.isArray(tools) && tools.length > 0 &&
    tools.length <= MAX_TOOLS && tools.every(isJsonObject);
  if (!isList) {
    throw new InvalidParameter(
      `invalid body: expected "tools" with 1 to ${MAX_TOOLS} of {"name", "digest"}`,
    );
  }
  return new Map(
    tools.filter(isJsonObject).map((tool) => [
      textMember(tool, "name"),
      textMember(tool, "digest"),
    ]),
  );
}

function readNames({ tools }: JsonObject): readonly string[] {
  const isName = (value: unknown) => typeof value === "string" && value !== "";
  const isList = Array.isArray(tools) && tools.length > 0 &&
    tools.length <= MAX_TOOLS && tools.every(isName);
  if (isList) return tools;
  throw new InvalidParameter(
    `invalid body: expected "tools" with 1 to ${MAX_TOOLS} names`,
  );
}

/** Returns why nobody can approve tools of a server here. */
function lockProblemOf(
  { server, approval }: DescribedServer,
): string | undefined {
  if (approval === "file") {
    return `server "${server}" has a lock file: change it, such as with "gwctl mcp lock --write"`;
  }
  return approval === undefined
    ? `server "${server}" has no "lock": all its tools are in use`
    : undefined;
}

function problemOf(
  described: DescribedServer,
  wanted: ReadonlyMap<string, string>,
): string | undefined {
  const { error, tools } = described;
  const problem = lockProblemOf(described) ?? error;
  if (problem !== undefined) return problem;
  const digests = new Map(
    tools.map(({ definition, digest }) => [String(definition["name"]), digest]),
  );
  const [changed] =
    [...wanted].find(([name, digest]) => digests.get(name) !== digest) ?? [];
  return changed === undefined
    ? undefined
    : `the tool "${changed}" has changed since it was reviewed: review it again`;
}
