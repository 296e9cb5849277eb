import { operationOf, type OperationText, toTemplate } from "./operations.ts";
import { allowedMethods, type Endpoint } from "../router.ts";

/** What the document is about. */
export interface ApiFacts {
  /** Of the gateway. */
  readonly version: string;
  readonly asksForToken: boolean;
  readonly admin: readonly Endpoint[];
  readonly stats: readonly Endpoint[];
}

/** The OpenAPI 3.1 document of the admin and stats servers. What is answered comes from the endpoints themselves. */
export function describeApi(
  { version, asksForToken, admin, stats }: ApiFacts,
) {
  const security = asksForToken ? [{ adminToken: [] }] : [];
  return {
    openapi: "3.1.1",
    info: {
      title: "Gateway admin interface",
      version,
      description:
        "The endpoints of config.adminAddr, and those of config.statsAddr, which name their own server. Paths that are not listed are a 404, but for the files of the web UI below /ui/; methods that are not listed are a 405.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "http://localhost:15000" }],
    security,
    paths: Object.fromEntries([
      ...admin.map((endpoint) => describePath(endpoint, "admin")),
      ...stats.map((endpoint) => describePath(endpoint, "stats")),
    ]),
    components: {
      securitySchemes: {
        adminToken: {
          type: "http",
          scheme: "bearer",
          description: "config.adminToken",
        },
      },
    },
  };
}

function describePath(endpoint: Endpoint, server: "admin" | "stats") {
  const path = toTemplate(endpoint.path);
  const methods = allowedMethods(endpoint).split(", ");
  return [path, {
    ...(server === "stats" && { servers: [{ url: "http://localhost:15020" }] }),
    ...(path.includes("{id}") && { parameters: [idParameter] }),
    ...Object.fromEntries(methods.map((method) => {
      const text = operationOf(endpoint, method === "HEAD" ? "GET" : method);
      const hasBody = method !== "HEAD";
      return [
        method.toLowerCase(),
        describeOperation(text, { hasBody, server }),
      ];
    })),
  }];
}

const idParameter = {
  name: "id",
  in: "path",
  required: true,
  schema: { type: "string" },
};

function describeOperation(
  operation: OperationText | undefined,
  { hasBody, server }: {
    readonly hasBody: boolean;
    readonly server: "admin" | "stats";
  },
) {
  const { summary = "", parameters = [], answers = {}, type = TEXT_TYPE } =
    operation ?? {};
  const all = {
    ...answers,
    ...(server === "admin" && refusals),
    500: "A mistake of ours",
  };
  return {
    summary,
    ...(server === "stats" && { security: [] }),
    ...(parameters.length > 0 && {
      parameters: parameters.map(({ name, description, schema }) => ({
        name,
        in: "query",
        description,
        schema,
      })),
    }),
    responses: Object.fromEntries(
      Object.entries(all).map(([status, description]) => [status, {
        description,
        ...(hasBody && {
          content: { [status === "200" ? type : TEXT_TYPE]: {} },
        }),
      }]),
    ),
  };
}

const TEXT_TYPE = "text/plain";

const refusals = {
  401: "The token is missing or wrong",
  403: "The request comes from another site, or under a name that is not ours",
};
