import {
  isJsonObject,
  type JsonObject,
  listAt,
  stringMember,
} from "../../base/json.ts";
import { EditError, type YamlPath } from "./add_to_list.ts";

/** A field of a form. */
export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly isRequired?: boolean;
  /** An example, shown while the field is empty. */
  readonly example?: string;
  /** Value at first. Default: that of the first option, or empty. */
  readonly value?: string;
  /** The values to choose from. */
  readonly options?: readonly FormOption[];
}

/** A value to choose. */
export interface FormOption {
  readonly value: string;
  readonly title: string;
}

/** The texts that were entered, by the names of the fields. */
export type FormValues = Readonly<Record<string, string>>;

/** A kind of item that a form adds to a file. */
export interface Addition {
  readonly title: string;
  /** The item, as a sentence. */
  readonly about: string;
  /** Returns the fields for a file. */
  readonly fields: (file: JsonObject) => readonly FormField[];
  /** Makes the item of what was entered. @throws {EditError} When a value does not fit. */
  readonly edit: (values: FormValues, file: JsonObject) => Edit;
}

/** An item, and the list that gets it. */
export interface Edit {
  readonly path: YamlPath;
  readonly item: JsonObject;
}

const keyVariables: Readonly<Record<string, string>> = {
  OpenAI: "OPENAI_API_KEY",
  Anthropic: "ANTHROPIC_API_KEY",
  Gemini: "GEMINI_API_KEY",
  Azure: "AZURE_OPENAI_API_KEY",
  Bedrock: "AWS_BEARER_TOKEN_BEDROCK",
  Vertex: "GOOGLE_ACCESS_TOKEN",
  OpenAICompatible: "",
};

/** All additions by their names. A new one is an entry here. */
export const additions: Readonly<Record<string, Addition>> = {
  provider: {
    title: "LLM provider",
    about:
      "A route to a provider, whose key clients never see. With models, only requests for them take the route.",
    fields: () => [
      choice("provider", "Provider", Object.keys(keyVariables)),
      field(
        "variable",
        "Environment variable of its key",
        "OPENAI_API_KEY; by default that of the provider",
      ),
      field("models", "Models", "gpt-*, o3; default all"),
      field("host", "Host", "for Azure and OpenAICompatible"),
      field("region", "Region", "for Bedrock and Vertex"),
      field("project", "Project", "for Vertex"),
    ],
    edit: (values) => {
      const { provider = "", models, host, region, project } = values;
      const fromEnv = values["variable"] || keyVariables[provider];
      const matches = listOf(models).map((model) => ({ model }));
      const llm = compact({
        provider,
        host,
        region,
        project,
        credentials: fromEnv ? { fromEnv } : undefined,
      });
      return {
        path: ["routes"],
        item: compact({
          name: provider.toLowerCase(),
          matches: matches.length === 0 ? undefined : matches,
          backends: [{ llm }],
        }),
      };
    },
  },
  mcpServer: {
    title: "MCP server",
    about:
      "A server behind an endpoint of several, or behind a new one at a path of its own.",
    fields: (file) => [
      text("name", "Name", "github"),
      text("url", "URL", "https://mcp.example.com/mcp"),
      {
        name: "endpoint",
        label: "Endpoint",
        options: [...endpointsOf(file), { value: "", title: "a new one" }],
      },
      { name: "path", label: "Path of a new one", value: "/mcp" },
      field(
        "variable",
        "Environment variable of its token",
        "GITHUB_TOKEN; default none",
      ),
    ],
    edit: ({ name, url, endpoint = "", path = "", variable }) => {
      const credentials = variable ? { fromEnv: variable } : undefined;
      const server = compact({ name, url, credentials });
      const [route, backend] = endpoint.split(" ").map(Number);
      if (endpoint !== "" && route !== undefined && backend !== undefined) {
        const to = ["routes", route, "backends", backend, "mcp", "servers"];
        return { path: to, item: server };
      }
      return {
        path: ["routes"],
        item: compact({
          name: nameOf(path),
          matches: [prefix(path)],
          backends: [{ mcp: { servers: [server] } }],
        }),
      };
    },
  },
  protectedMcp: {
    title: "Protected MCP server",
    about:
      "A route to an MCP server that only users with a token of an identity provider reach.",
    fields: () => [
      text("host", "Host of the server", "127.0.0.1:9000"),
      { ...text("path", "Path", "/mcp"), value: "/mcp" },
      text("resource", "URL for clients", "https://mcp.example.com/mcp"),
      text("issuer", "Issuer", "https://login.example.com"),
      text("jwks", "Keys (JWKS)", "https://login.example.com/jwks.json"),
      field("rule", "Who may call", "'editor' in jwt.roles; default all users"),
    ],
    edit: ({ host, path = "", resource = "", issuer, jwks, rule }) => ({
      path: ["routes"],
      item: {
        name: nameOf(path),
        matches: [prefix(path)],
        policies: compact({
          jwtAuthentication: {
            providers: [
              { issuer, audiences: [resource], jwks: { url: jwks } },
            ],
            mcp: { resourceMetadata: { resource } },
          },
          authorization: rule
            ? { policy: { matchExpressions: [rule] } }
            : undefined,
        }),
        backends: [{ host }],
      },
    }),
  },
  route: {
    title: "Route",
    about: "Requests below a path, and the backend that they go to.",
    fields: () => [
      text("path", "Path", "/api"),
      text("host", "Host of the backend", "127.0.0.1:8080"),
    ],
    edit: ({ path = "", host }) => ({
      path: ["routes"],
      item: {
        name: nameOf(path),
        matches: [prefix(path)],
        backends: [{ host }],
      },
    }),
  },
  limit: {
    title: "Limit",
    about: "Requests, tokens or money that a route lets through.",
    fields: (file) => [
      { name: "route", label: "Route", options: routesOf(file) },
      choice("what", "Of", ["requests", "tokens", "usd"]),
      text("amount", "At most", "1000"),
      choice("unit", "In", ["Minutes", "Hours", "Days", "Weeks", "Months"]),
      field("key", "For each", "apiKey.team; default all together"),
    ],
    edit: ({ route, what = "", amount, unit, key }) => ({
      path: ["routes", Number(route), "policies", "rateLimit", "local"],
      item: compact({
        ...what === "usd"
          ? { cost: { usd: numberOf(amount), unit } }
          : { [what]: numberOf(amount), unit },
        key,
      }),
    }),
  },
  key: {
    title: "API key",
    about:
      "A key that clients of a route send. Keys in the store are made on the page Keys.",
    fields: (file) => [
      { name: "route", label: "Route", options: routesOf(file) },
      text("variable", "Environment variable of the key", "BLUE_TEAM_KEY"),
      field("team", "Team", "blue"),
    ],
    edit: ({ route, variable = "", team }) => ({
      path: [
        "routes",
        Number(route),
        "policies",
        "apiKeyAuthentication",
        "keys",
      ],
      item: compact({
        key: `\${${variable}}`,
        metadata: team ? { team } : undefined,
      }),
    }),
  },
};

function routesOf(file: JsonObject): readonly FormOption[] {
  return listAt(file, "routes").map((route, index) => ({
    value: String(index),
    title: titleOf(route, index),
  }));
}

/** Lists the backends with several MCP servers: `0 1` is the second backend of the first route. */
function endpointsOf(file: JsonObject): readonly FormOption[] {
  return listAt(file, "routes").flatMap((route, index) =>
    listAt(route, "backends").flatMap((backend, at) =>
      isJsonObject(backend) && isJsonObject(backend["mcp"])
        ? [{ value: `${index} ${at}`, title: titleOf(route, index) }]
        : []
    )
  );
}

function titleOf(route: unknown, index: number): string {
  const name = isJsonObject(route) ? stringMember(route, "name") : undefined;
  return name ?? `route ${index + 1}`;
}

function field(name: string, label: string, example: string): FormField {
  return { name, label, example };
}

function text(name: string, label: string, example: string): FormField {
  return { name, label, example, isRequired: true };
}

function choice(
  name: string,
  label: string,
  values: readonly string[],
): FormField {
  return {
    name,
    label,
    options: values.map((value) => ({ value, title: value })),
  };
}

function prefix(value: string): JsonObject {
  return { path: { type: "PathPrefix", value } };
}

/** Returns the name of a route for a path: `api-v1` for `/api/v1`. */
function nameOf(path: string): string {
  const name = path.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return name.replace(/^-+|-+$/g, "") || "root";
}

function listOf(text = ""): readonly string[] {
  return text.split(",").map((each) => each.trim()).filter((each) => each);
}

function numberOf(text = ""): number {
  const number = Number(text);
  if (Number.isFinite(number)) return number;
  throw new EditError(`${JSON.stringify(text)} is not a number`);
}

/** Leaves out what was not entered. */
function compact(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) =>
      value !== undefined && value !== ""
    ),
  );
}
