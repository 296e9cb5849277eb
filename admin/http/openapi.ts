import { type OperationText, TEXT_TYPE, toTemplate } from "./operation_text.ts";
import { allowedMethods, type Endpoint } from "./router.ts";

/** Content of the document. */
export interface ApiDescription {
  /** Version of the gateway. */
  readonly version: string;
  readonly requiresToken: boolean;
  readonly admin: readonly Endpoint[];
  readonly stats: readonly Endpoint[];
}

/** Generates the OpenAPI 3.1 document of the admin and stats servers from their endpoints. */
export function describeApi(
  { version, requiresToken, admin, stats }: ApiDescription,
) {
  const security = requiresToken ? [{ adminToken: [] }] : [];
  return {
    openapi: "3.1.1",
    info: {
      title: "Gateway admin interface",
      version,
      description:
        "Endpoints of config.adminAddr, and of config.statsAddr, which declare their own server. Other paths return 404, except files of the web UI below /ui/; other methods return 405.",
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
      const text = endpoint.texts?.[method === "POST" ? "POST" : "GET"];
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
  const { summary = "", ok, parameters = [], others, type = JSON_TYPE } =
    operation ?? {};
  const all = {
    ...(ok !== undefined && { 200: ok }),
    ...(parameters.length > 0 && { 400: "Invalid parameter" }),
    ...others,
    ...(server === "admin" && rejections),
    500: "Internal error",
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

const JSON_TYPE = "application/json";

const rejections = {
  401: "Missing or invalid token",
  403: "Cross-origin request or unexpected Host",
  429: "Too many invalid tokens",
};
