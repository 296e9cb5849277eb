import { importClientKey } from "../parts/imported_secrets.ts";
import {
  fromEnvironment,
  importDeployment,
  windowOf,
} from "./litellm_deployments.ts";
import {
  closed,
  type ImportedConfiguration,
  type RouteImport,
  RouteNames,
} from "../parts/imported_configuration.ts";
import type { SourceNode } from "../parts/source_node.ts";

/** Port of LiteLLM's proxy. */
const PORT = 4000;

/** Policies of `loadBalancing` by `routing_strategy`. */
const strategies: ReadonlyMap<string, string> = new Map(Object.entries({
  "simple-shuffle": "Weighted",
  "latency-based-routing": "LeastLatency",
  "cost-based-routing": "LowestCost",
  "usage-based-routing": "MostQuota",
  "usage-based-routing-v2": "MostQuota",
}));

/** Models that one name stands for. */
interface Group {
  readonly name: string;
  readonly source: SourceNode;
  readonly deployments: readonly SourceNode[];
}

/** Settings that all routes have. */
interface Common {
  readonly policies: Readonly<Record<string, unknown>>;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Of routes with several backends. */
  readonly loadBalancing: object;
  /** Reasons why routes would be open or unlimited. */
  readonly missing: readonly string[];
}

/** Imports a configuration of LiteLLM's proxy: a route for each model, with all its deployments. */
export function importLitellm(root: SourceNode): ImportedConfiguration {
  const groups = readGroups(root);
  const fallbacks = readFallbacks(root);
  const common = readCommon(root);
  const aliases = [
    ...root.get("router_settings")?.get("model_group_alias")?.members() ?? [],
  ];
  const all = [
    ...groups.values(),
    ...aliases.flatMap(([alias, target]) => {
      const group = groups.get(target.text() ?? "");
      if (group !== undefined) return [{ ...group, name: alias }];
      target.reject("model_group_alias: expected the name of a model");
      return [];
    }),
  ];
  const names = new RouteNames();
  const usesStore = JSON.stringify(common.policies).includes('"KV"') ||
    JSON.stringify(common.policies).includes('"stored"');
  return {
    config: usesStore ? { kv: { path: "gateway.db" } } : undefined,
    gateways: { default: { port: PORT } },
    routes: all.map((group) =>
      importGroup(group, { names, groups, fallbacks, common })
    ),
  };
}

function readGroups(root: SourceNode): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const source of root.get("model_list")?.items() ?? []) {
    const name = source.get("model_name")?.text() ?? "*";
    const known = groups.get(name);
    const deployments = [...known?.deployments ?? [], source];
    groups.set(name, { name, source: known?.source ?? source, deployments });
  }
  return groups;
}

/** Returns the names of other groups by the group that they stand in for. */
function readFallbacks(
  root: SourceNode,
): ReadonlyMap<string, readonly string[]> {
  const places = [root.get("router_settings"), root.get("litellm_settings")];
  const fallbacks = new Map<string, readonly string[]>();
  for (const place of places) {
    // Failures and contexts that are too long both send a request to the next backend.
    for (const kind of ["fallbacks", "context_window_fallbacks"]) {
      for (const entry of place?.get(kind)?.items() ?? []) {
        for (const [name, others] of entry.members()) {
          const known = fallbacks.get(name) ?? [];
          fallbacks.set(name, [...new Set([...known, ...others.texts()])]);
        }
      }
    }
    const defaults = place?.get("default_fallbacks")?.texts();
    if (defaults !== undefined) fallbacks.set("*", defaults);
  }
  return fallbacks;
}

function readCommon(root: SourceNode): Common {
  const general = root.get("general_settings");
  const own = root.get("litellm_settings");
  const router = root.get("router_settings");
  const key = general?.get("master_key")?.text();
  const database = general?.get("database_url");
  database?.note(
    "database_url: import its keys with: gwctl keys import <file>",
  );
  const missing: string[] = [];
  const rateLimit = importBudget(own, missing);
  const strategy = router?.get("routing_strategy");
  const policy = strategies.get(strategy?.text() ?? "simple-shuffle");
  if (policy === undefined) {
    strategy?.reject(`routing_strategy: no counterpart for ${strategy.text()}`);
  }
  const timeout = router?.get("timeout")?.number() ??
    own?.get("request_timeout")?.number();
  const retries = router?.get("num_retries")?.number() ??
    own?.get("num_retries")?.number();
  const drop = own?.get("drop_params");
  if (drop?.isTrue() === false) {
    drop.note(
      "drop_params: settings that only advise a provider are left out where its API lacks them; set `unsupported: Reject` of a backend for an error",
    );
  }
  return {
    missing,
    policies: {
      ...key !== undefined && {
        apiKeyAuthentication: {
          keys: [{
            ...importClientKey(fromEnvironment(key)),
            metadata: { name: "master" },
          }],
          ...database !== undefined && { stored: true },
        },
      },
      ...rateLimit && { rateLimit },
    },
    settings: {
      ...typeof timeout === "number" &&
        { timeouts: { request: `${timeout}s` } },
      ...typeof retries === "number" && retries > 0 &&
        { retry: { attempts: retries } },
    },
    loadBalancing: policy === undefined || policy === "Weighted"
      ? {}
      : { loadBalancing: { policy } },
  };
}

/** Imports the budget of the whole proxy, which all routes share. */
function importBudget(own: SourceNode | undefined, missing: string[]) {
  const usd = own?.get("max_budget")?.number();
  const duration = own?.get("budget_duration");
  if (usd === undefined) return undefined;
  const unit = windowOf(duration?.text());
  if (unit === undefined) {
    const place = duration ?? own?.get("max_budget");
    place?.reject(
      "max_budget: no counterpart without a window of a minute, an hour, a day, 7d, 30d or 1mo",
    );
    missing.push("max_budget");
    return undefined;
  }
  return {
    global: {
      ...{ domain: "litellm", store: "KV" },
      descriptors: [{
        entries: [{ key: "proxy", value: '"all"' }],
        cost: { usd, unit },
      }],
    },
  };
}

function importGroup(
  { name, source, deployments }: Group,
  { names, groups, fallbacks, common }: {
    readonly names: RouteNames;
    readonly groups: ReadonlyMap<string, Group>;
    readonly fallbacks: ReadonlyMap<string, readonly string[]>;
    readonly common: Common;
  },
): RouteImport {
  const next = [...fallbacks.get(name) ?? fallbacks.get("*") ?? []]
    .flatMap((other) => groups.get(other) ?? []);
  const tiers = [deployments, ...next.map((group) => group.deployments)];
  const imported = tiers.flatMap((tier, priority) =>
    tier.map((deployment) => importDeployment(deployment, name, priority))
  );
  const missing = [
    ...common.missing,
    ...imported.flatMap(({ missing }) => missing),
  ];
  const start = {
    name: names.take(name === "*" ? "all" : name),
    gateways: ["default"],
    ...name !== "*" && { matches: [{ model: name }] },
  };
  if (missing.length > 0) return { source, route: closed(start, missing) };
  const { policies, settings, loadBalancing } = common;
  return {
    source,
    route: {
      ...start,
      ...settings,
      ...imported.length > 1 && loadBalancing,
      ...Object.keys(policies).length > 0 && { policies },
      backends: imported.map(({ backend }) => backend),
    },
  };
}
