/** Shows the steps of a login while it runs. Steps before the redirect are kept for the page after it. */
import { finishLogin, prepareLogin } from "/exchange.js";

const form = document.querySelector("#choice");
const list = document.querySelector("#steps");
const outcome = document.querySelector("#outcome");
const REDIRECT_URI = `${location.origin}/callback`;
let steps = [];

form.addEventListener("submit", (event) => {
  event.preventDefault();
  run(start);
});
if (location.pathname === "/callback") run(resume);

async function start() {
  const endpoints = await (await fetch("/endpoints.json")).json();
  const { provider, user } = Object.fromEntries(new FormData(form));
  const endpoint = endpoints.find((each) => each.provider === provider);
  steps = [];
  list.replaceChildren();
  const { login, pending } = await prepareLogin(endpoint, {
    user,
    redirectUri: REDIRECT_URI,
    show,
  });
  sessionStorage.setItem("pending", JSON.stringify({ pending, user, steps }));
  location.assign(login);
  return "Going to the login page";
}

async function resume() {
  const kept = JSON.parse(sessionStorage.getItem("pending"));
  sessionStorage.removeItem("pending");
  const query = new URLSearchParams(location.search);
  // The code works only once; it need not stay in the history.
  history.replaceState(undefined, "", "/");
  if (kept === null) throw new Error("No login is in progress. Run it again");
  const { pending, user } = kept;
  form.elements.provider.value = pending.endpoint.provider;
  form.elements.user.value = user;
  for (const step of kept.steps) show(step);
  return await finishLogin(pending, query, show)
    ? "Done: the MCP server was called."
    : `Denied with 403: the token is valid, but the rule ${pending.endpoint.rule} is false.`;
}

async function run(task) {
  form.inert = true;
  outcome.className = "";
  outcome.textContent = "Running…";
  try {
    outcome.textContent = await task();
    outcome.className = /^Denied/.test(outcome.textContent) ? "warn" : "";
  } catch (error) {
    outcome.className = "bad";
    outcome.textContent = `Failed: ${error.message}`;
  } finally {
    form.inert = false;
  }
}

function show(step) {
  steps.push(step);
  const { title, note, request, response, error, isExpected } = step;
  const details = element("details", { open: true }, [
    element("summary", {}, [
      element("h2", { textContent: title }),
      " ",
      element("span", {
        className: `badge ${toneOf(step)}`,
        textContent: response?.status ?? (isExpected ? "" : "failed"),
      }),
    ]),
    ...paragraph(note),
    element("div", { className: "messages" }, [
      ...message(
        "Request",
        request && `${request.method} ${request.url}`,
        request,
      ),
      ...message("Response", response?.status, response),
    ]),
    ...paragraph(error),
  ]);
  list.append(element("li", { className: `panel ${toneOf(step)}` }, [details]));
}

/** A denial that the login needs, such as the first 401, is neither a success nor a failure. */
function toneOf({ isExpected, response }) {
  if (!isExpected) return "bad";
  return parseInt(response?.status) >= 400 ? "warn" : "good";
}

function message(title, line, { headers = {}, body } = {}) {
  if (line === undefined) return [];
  const fields = Object.entries(headers).map(([name, value]) =>
    `${name}: ${value}`
  );
  const text = typeof body === "string" ? body : pretty(body);
  return [
    element("div", {}, [
      element("h3", { className: "quiet", textContent: title }),
      element("pre", {
        tabIndex: 0,
        textContent: [line, ...fields, ...(text ? ["", text] : [])].join("\n"),
      }),
    ]),
  ];
}

/** Formats indented JSON, with lists of values on one line. */
function pretty(value) {
  return JSON.stringify(value, null, 2)?.replace(
    /\[\n([^[\]{}]*)\n\s*\]/g,
    (_, items) => `[${items.trim().replaceAll(/\n\s*/g, " ")}]`,
  );
}

function paragraph(text) {
  return text ? [element("p", { className: "quiet", textContent: text })] : [];
}

function element(name, properties, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
