import { importClientKey } from "../parts/imported_secrets.ts";
import { importProvider } from "../parts/imported_provider.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** A consumer with its keys. */
export interface Consumer {
  readonly name: string;
  readonly keys: readonly string[];
  readonly groups: readonly string[];
  readonly plugins: readonly SourceNode[];
}

/** Plugins of a route. */
export interface PluginImport {
  readonly policies: Readonly<Record<string, unknown>>;
  /** Backend that a plugin has. */
  readonly backend?: Readonly<Record<string, unknown>>;
  /** Plugins that restricted access, and have no counterpart. */
  readonly missing: readonly string[];
}

/** Plugins that only observe. */
export const observers: ReadonlySet<string> = new Set([
  "datadog",
  "file-log",
  "http-log",
  "loggly",
  "opentelemetry",
  "prometheus",
  "statsd",
  "syslog",
  "tcp-log",
  "udp-log",
  "zipkin",
]);

const units = {
  second: "Seconds",
  minute: "Minutes",
  hour: "Hours",
  day: "Days",
  month: "Months",
} as const;

/** Reads the consumers of a file. */
export function readConsumers(root: SourceNode): readonly Consumer[] {
  return (root.get("consumers")?.items() ?? []).map((source) => ({
    name: source.get("username")?.text() ?? source.get("custom_id")?.text() ??
      "consumer",
    keys: (source.get("keyauth_credentials")?.items() ?? [])
      .flatMap((each) => each.get("key")?.text() ?? []),
    groups: (source.get("acls")?.items() ?? [])
      .flatMap((each) => each.get("group")?.text() ?? []),
    plugins: source.get("plugins")?.items() ?? [],
  }));
}

/** Imports plugins: those of a later set take the place of earlier ones with the same name. */
export function importPlugins(
  sets: readonly (readonly SourceNode[])[],
  consumers: readonly Consumer[],
): PluginImport {
  const plugins = new Map<string, SourceNode>();
  for (const plugin of sets.flat()) {
    const name = plugin.get("name")?.text() ?? "";
    if (plugin.get("enabled")?.text() === "false") continue;
    plugins.set(name, plugin);
  }
  const missing: string[] = [];
  const policies: Record<string, unknown> = {};
  let backend: PluginImport["backend"];
  for (const [name, plugin] of plugins) {
    const config = plugin.get("config");
    if (name === "key-auth") {
      policies["apiKeyAuthentication"] = importKeys(config, consumers);
    } else if (name === "rate-limiting") {
      policies["rateLimit"] = {
        local: [...importLimits(config, consumers, undefined)],
      };
    } else if (name === "cors") {
      policies["cors"] = importCors(plugin, config);
    } else if (name === "acl") {
      policies["authorization"] = importAcl(config);
    } else if (name === "ai-proxy") {
      const imported = importAi(plugin, config);
      backend = imported.backend;
      if (imported.missing !== undefined) missing.push(imported.missing);
    } else {
      plugin.reject(`plugin ${name}: no counterpart`);
      if (!observers.has(name)) missing.push(name);
    }
  }
  const own = consumers.flatMap((consumer) =>
    importConsumerLimits(consumer, missing)
  );
  if (own.length > 0) {
    const { local = [] } = Object(policies["rateLimit"]);
    policies["rateLimit"] = { local: [...local, ...own] };
  }
  return { policies, missing, ...backend && { backend } };
}

function importKeys(
  config: SourceNode | undefined,
  consumers: readonly Consumer[],
) {
  const [name = "apikey", ...others] = config?.get("key_names")?.texts() ?? [];
  if (others.length > 0) {
    config?.get("key_names")?.note(`key_names: only ${name} is taken over`);
  }
  config?.get("key_in_header");
  config?.get("hide_credentials");
  return {
    keys: consumers.flatMap(({ name, keys, groups }) =>
      keys.map((key) => ({
        ...importClientKey(withReferences(key)),
        metadata: { name, ...groups.length > 0 && { groups } },
      }))
    ),
    location: { header: { name } },
  };
}

/** Limits of a plugin; consumers with limits of their own have those instead. @param consumer The only one that they are for. */
function* importLimits(
  config: SourceNode | undefined,
  consumers: readonly Consumer[],
  consumer: string | undefined,
): Generator<object> {
  const by = config?.get("limit_by")?.text() ?? "consumer";
  const policy = config?.get("policy")?.text() ?? "local";
  if (policy !== "local") {
    config?.get("policy")?.note(
      `policy ${policy}: limits count in each process; rateLimit.global counts for all`,
    );
  }
  const known = consumer === undefined
    ? consumers.filter(({ plugins }) => plugins.some(isLimit)).map(({ name }) =>
      name
    )
    : [];
  const others = known.length === 0
    ? undefined
    : `!has(apiKey.name) || !(apiKey.name in ${JSON.stringify(known)})`;
  const when = consumer === undefined
    ? others
    : `has(apiKey.name) && apiKey.name == ${JSON.stringify(consumer)}`;
  for (const [name, unit] of Object.entries(units)) {
    const requests = config?.get(name)?.number();
    if (requests === undefined) continue;
    yield {
      ...{ requests, unit },
      ...when !== undefined && { when },
      ...consumer === undefined && keyBy(by, config),
    };
  }
}

function keyBy(by: string, config: SourceNode | undefined) {
  switch (by) {
    case "ip":
      return { key: "source.address" };
    case "service":
      return {};
    case "header":
      return {
        key: `request.headers[${
          JSON.stringify(config?.get("header_name")?.text() ?? "")
        }]`,
      };
    default:
      return { key: "has(apiKey.name) ? apiKey.name : source.address" };
  }
}

function importConsumerLimits(
  { name, plugins }: Consumer,
  missing: string[],
): readonly object[] {
  return plugins.flatMap((plugin) => {
    if (isLimit(plugin)) {
      return [...importLimits(plugin.get("config"), [], name)];
    }
    const kind = plugin.get("name")?.text() ?? "";
    plugin.reject(`plugin ${kind} of a consumer: no counterpart`);
    missing.push(kind);
    return [];
  });
}

function isLimit(plugin: SourceNode): boolean {
  return plugin.get("name")?.text() === "rate-limiting";
}

function importAcl(config: SourceNode | undefined) {
  const allow = config?.get("allow")?.texts() ?? [];
  const deny = config?.get("deny")?.texts() ?? [];
  const has = (groups: readonly string[]) =>
    `has(apiKey.groups) && apiKey.groups.exists(g, g in ${
      JSON.stringify(groups)
    })`;
  return {
    policy: {
      matchExpressions: [
        ...allow.length > 0 ? [has(allow)] : [],
        ...deny.length > 0 ? [`!(${has(deny)})`] : [],
      ],
    },
  };
}

/** Origins of Kong may be regular expressions; without a counterpart of one, browsers get nothing more than allowed. */
function importCors(plugin: SourceNode, config: SourceNode | undefined) {
  config?.get("preflight_continue");
  const origins = (config?.get("origins")?.texts() ?? ["*"]).filter(
    (origin) => {
      if (origin === "*" || /^https?:\/\/[\w.:-]+$/.test(origin)) return true;
      plugin.note(`origin ${origin}: write it as an origin, or with a "*"`);
      return false;
    },
  );
  const maxAge = config?.get("max_age")?.number();
  return {
    allowOrigins: origins.includes("*") ? ["*"] : origins,
    allowMethods: config?.get("methods")?.texts() ??
      ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS"],
    allowHeaders: config?.get("headers")?.texts() ?? ["*"],
    exposeHeaders: config?.get("exposed_headers")?.texts(),
    ...config?.get("credentials")?.isTrue() === true &&
      { allowCredentials: true },
    ...typeof maxAge === "number" && { maxAge },
  };
}

function importAi(plugin: SourceNode, config: SourceNode | undefined) {
  const type = config?.get("route_type");
  if (type !== undefined && !/^llm\/v1\//.test(type.text() ?? "")) {
    type.note(`route_type ${type.text()}: the path decides`);
  }
  const model = config?.get("model");
  const options = model?.get("options");
  const auth = config?.get("auth");
  auth?.get("header_name");
  const key = auth?.get("header_value")?.text()?.replace(/^Bearer /i, "");
  const url = URL.parse(options?.get("upstream_url")?.text() ?? "");
  const instance = options?.get("azure_instance")?.text();
  return importProvider(plugin, model?.get("provider")?.text() ?? "", {
    model: model?.get("name")?.text(),
    key: key === undefined ? undefined : withReferences(key),
    host: url?.host ??
      (instance === undefined ? undefined : `${instance}.openai.azure.com`),
    basePath: url === null
      ? undefined
      : url.pathname.replace(/\/(chat\/completions|completions)?$/, "") ||
        undefined,
    plainText: url?.protocol === "http:",
  });
}

/** Writes a reference to the vault of environment variables, `{vault://env/my-key}`, as `${MY_KEY}`. */
function withReferences(text: string): string {
  return text.replace(
    /\{vault:\/\/env\/([\w-]+)\}/g,
    (_, name: string) => `\${${name.toUpperCase().replaceAll("-", "_")}}`,
  );
}
