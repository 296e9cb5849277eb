import {
  failures,
  keys,
  limits,
  logging,
  profiles,
  topology,
  trace,
} from "../legacy/legacy.tsx";
import { Overview } from "../pages/overview/overview.tsx";
import type { Page } from "./page.ts";

/** All pages in the order of the navigation. A new page has a folder below `pages/` and a line here. */
export const pages: readonly Page[] = [
  {
    id: "overview",
    title: "Overview",
    group: "Observe",
    icon: "overview",
    View: Overview,
  },
  { id: "trace", title: "Trace", group: "Observe", icon: "trace", View: trace },
  {
    id: "failures",
    title: "Failures",
    group: "Observe",
    icon: "failures",
    View: failures,
  },
  {
    id: "topology",
    title: "Topology",
    group: "Understand",
    icon: "topology",
    View: topology,
  },
  {
    id: "limits",
    title: "Limits",
    group: "Govern",
    icon: "limits",
    View: limits,
  },
  { id: "keys", title: "Keys", group: "Govern", icon: "keys", View: keys },
  {
    id: "logging",
    title: "Logging",
    group: "Runtime",
    icon: "logging",
    View: logging,
  },
  {
    id: "profiles",
    title: "Profiles",
    group: "Runtime",
    icon: "profiles",
    View: profiles,
    isAvailable: (status) => status.profiles.length > 0,
  },
];
