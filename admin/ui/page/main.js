/** The frame of the page: navigation, readiness of the gateway, and notices. */
import { getJson } from "./api.js";
import { h, setText, showMessage, time } from "./dom.js";
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
/** Stops the activity of the current view. */
let leave = new AbortController();
let status;

start();

async function start() {
  const message = h("p", { role: "status" }, "Waiting for the gateway…");
  main.replaceChildren(h("h1", {}, "Gateway"), message);
  while (status === undefined) {
    try {
      status = await getJson("status");
    } catch (error) {
      showMessage(message, error.message, true);
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

/** Shows the view of the address: `#view` or `#view/argument`. */
function show(isNavigation) {
  const [name, ...rest] = location.hash.slice(1).split("/");
  // The link that skips the navigation is not a view.
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
    "); the previous one is active. ",
    h("a", { href: "#overview" }, "Show details"),
  );
  document.querySelector("#notices").replaceChildren(
    ...(notice ? [notice] : []),
  );
}
