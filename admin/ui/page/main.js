/** The frame around the views: which one is shown, whether the gateway is well, and what everybody has to know. */
import { getJson } from "./api.js";
import { h, say, setText, time } from "./dom.js";
import { poll } from "./poll.js";
import * as budgets from "./budgets.js";
import * as failures from "./failures.js";
import * as keys from "./keys.js";
import * as logging from "./logging.js";
import * as overview from "./overview.js";
import * as profiles from "./profiles.js";
import * as routes from "./routes.js";
import * as trace from "./trace.js";

const views = {
  overview: { title: "Overview", show: overview.show },
  routes: { title: "Routes", show: routes.show },
  trace: { title: "Trace", show: trace.show },
  failures: { title: "Failures", show: failures.show },
  budgets: { title: "Budgets", show: budgets.show },
  keys: { title: "Keys", show: keys.show },
  logging: { title: "Logging", show: logging.show },
  profiles: { title: "Profiles", show: profiles.show },
};

const main = document.querySelector("main");
const links = new Map();
/** Stops whatever the shown view does. */
let leave = new AbortController();
let status;

start();

async function start() {
  const said = h("p", { role: "status" }, "Waiting for the gateway…");
  main.replaceChildren(h("h1", {}, "Gateway"), said);
  while (status === undefined) {
    try {
      status = await getJson("status");
    } catch (error) {
      say(said, error.message, true);
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
  if (status.profiles.length === 0) delete views.profiles;
  for (const [name, { title }] of Object.entries(views)) {
    const link = h("a", { href: `#${name}` }, title);
    links.set(name, link);
    document.querySelector("#views").append(h("li", {}, link));
  }
  addEventListener("hashchange", () => show(true));
  show(false);
  poll(2000, new AbortController().signal, refresh);
}

/** Shows the view that the address names, `#view` or `#view/argument`. */
function show(isNavigation) {
  const [name, ...rest] = location.hash.slice(1).split("/");
  // The link that skips the navigation names no view.
  if (name === "main") return;
  const view = Object.hasOwn(views, name) ? views[name] : views.overview;
  leave.abort();
  leave = new AbortController();
  for (const [key, link] of links) {
    if (views[key] === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title} – Gateway`;
  const content = h("div", { class: "view" });
  main.replaceChildren(h("h1", {}, view.title), content);
  if (isNavigation) main.focus();
  const argument = decode(rest.join("/"));
  view.show(content, { signal: leave.signal, argument, status });
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function refresh() {
  const badge = document.querySelector("#readiness");
  try {
    status = await getJson("status");
    badge.className = status.readiness;
    setText(badge, status.readiness);
    showRejected(status.lastRejected);
  } catch (error) {
    badge.className = "gone";
    setText(badge, error.message);
  }
}

let shownRejected;

function showRejected(rejected) {
  const key = rejected && rejected.at;
  if (key === shownRejected) return;
  shownRejected = key;
  const notice = rejected && h(
    "p",
    {},
    h("strong", {}, "The last configuration was rejected"),
    " (",
    time(rejected.at),
    "), the one before is in force. ",
    h("a", { href: "#overview" }, "Show why"),
  );
  document.querySelector("#notices").replaceChildren(
    ...(notice ? [notice] : []),
  );
}
