import { Accounts } from "../pages/accounts/accounts.tsx";
import { Configuration } from "../pages/configuration/configuration.tsx";
import { IdentityProviders } from "../pages/keys/keys.tsx";
import { Limits } from "../pages/limits/limits.tsx";
import { Logging } from "../pages/logging/logging.tsx";
import { Overview } from "../pages/overview/overview.tsx";
import { Playground } from "../pages/playground/playground.tsx";
import { Profiles } from "../pages/profiles/profiles.tsx";
import { Requests } from "../pages/requests/requests.tsx";
import { Topology } from "../pages/topology/topology.tsx";
import { Traffic } from "../pages/traffic/traffic.tsx";
import { Failures } from "../pages/requests/failures.tsx";
import { LiveTrace } from "../pages/traces/live_trace.tsx";
import { McpServers } from "../pages/mcp/mcp_servers.tsx";
import { Memory } from "../pages/runtime/memory.tsx";
import { Connections } from "../pages/runtime/connections.tsx";
import { Tasks } from "../pages/runtime/tasks.tsx";
import type { Page } from "../navigation/page.ts";

/** All pages in the order of the navigation. A new page has a folder below `pages/` and a line here. */
export const pages: readonly Page[] = [
  { id: "overview", title: "Overview", group: "Observe", View: Overview },
  { id: "traffic", title: "Traffic", group: "Observe", View: Traffic },
  { id: "requests", title: "Requests", group: "Observe", View: Requests },
  {
    id: "trace",
    title: "Trace",
    group: "Observe",
    View: LiveTrace,
    isAvailable: (status) => status.role !== "viewer",
  },
  { id: "failures", title: "Failures", group: "Observe", View: Failures },
  { id: "topology", title: "Topology", group: "Understand", View: Topology },
  {
    id: "configuration",
    title: "Configuration",
    group: "Understand",
    View: Configuration,
    isAvailable: (status) => status.hasSource,
  },
  {
    id: "playground",
    title: "Playground",
    group: "Understand",
    View: Playground,
    isAvailable: (status) =>
      status.server === "admin" && status.role !== "viewer",
  },
  { id: "mcp", title: "MCP servers", group: "Govern", View: McpServers },
  { id: "limits", title: "Limits", group: "Govern", View: Limits },
  { id: "keys", title: "Keys", group: "Govern", View: IdentityProviders },
  {
    id: "accounts",
    title: "Accounts",
    group: "Govern",
    View: Accounts,
    isAvailable: (status) => status.server === "admin",
  },
  { id: "logging", title: "Logging", group: "Runtime", View: Logging },
  { id: "memory", title: "Memory", group: "Runtime", View: Memory },
  {
    id: "connections",
    title: "Connections",
    group: "Runtime",
    View: Connections,
  },
  { id: "tasks", title: "Tasks", group: "Runtime", View: Tasks },
  {
    id: "profiles",
    title: "Profiles",
    group: "Runtime",
    View: Profiles,
    isAvailable: (status) => status.profiles.length > 0,
  },
];
