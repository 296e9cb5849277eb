/** Shows and sets the log level, as a whole and by module. */
import { getText, post } from "./api.js";
import { h, say, table } from "./dom.js";

const levels = ["off", "error", "warn", "info", "debug", "trace"];

export async function show(content, { signal, status }) {
  const said = h("p", { role: "status" });
  const current = h("div");
  content.append(current, said);
  const update = (text) => {
    const filter = text.replace(/^current log level is /, "");
    current.replaceChildren(describe(filter));
  };
  const change = async (query) => {
    try {
      update(await post(`logging?${query}`));
      say(said, "The log level is changed, until the gateway restarts.");
    } catch (error) {
      say(said, error.message, true);
    }
  };
  if (status.readOnly) {
    content.append(
      h("p", { class: "quiet" }, "This page can look at it but not change it."),
    );
  } else content.append(form(change));
  try {
    update(await getText("logging", signal));
  } catch (error) {
    if (!signal.aborted) say(said, error.message, true);
  }
}

function describe(filter) {
  const rows = filter.split(",").map((part) => {
    const [module, level] = part.split("=");
    return level === undefined ? ["all others", module] : [module, level];
  });
  return table("Log levels in force", ["Module", "Level"], rows);
}

function form(change) {
  const module = h("input", {
    name: "module",
    pattern: "[a-z][a-z0-9_]*",
    placeholder: "all",
    "aria-describedby": "module-hint",
  });
  const level = h(
    "select",
    { name: "level" },
    levels.map((name) => h("option", { selected: name === "info" }, name)),
  );
  return h(
    "form",
    {
      class: "row",
      onsubmit: (event) => {
        event.preventDefault();
        const directive = module.value === ""
          ? level.value
          : `${module.value}=${level.value}`;
        change(`level=${encodeURIComponent(directive)}`);
      },
    },
    h("label", {}, "Level ", level),
    h("label", {}, "Module ", module),
    h("button", { class: "main" }, "Set"),
    h(
      "button",
      { type: "button", onclick: () => change("reset") },
      "Back to the configured level",
    ),
    h(
      "p",
      { id: "module-hint", class: "quiet" },
      "Such as proxy, policy or identity; empty for all modules without a level of their own.",
    ),
  );
}
