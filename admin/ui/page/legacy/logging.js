/** Shows and sets log levels, default and per module. */
import { getText, post } from "./api.js";
import { h, showMessage, table } from "./dom.js";

const levels = ["off", "error", "warn", "info", "debug", "trace"];

export async function show(content, { signal, status }) {
  const message = h("p", { role: "status" });
  const current = h("div");
  content.append(current, message);
  const update = (text) => {
    const filter = text.replace(/^current log level is /, "");
    current.replaceChildren(describe(filter));
  };
  const change = async (query) => {
    try {
      update(await post(`logging?${query}`));
      showMessage(message, "Log level changed until the gateway restarts.");
    } catch (error) {
      showMessage(message, error.message, true);
    }
  };
  if (status.readOnly) {
    content.append(
      h("p", { class: "quiet" }, "Read-only: this page cannot change it."),
    );
  } else content.append(form(change));
  try {
    update(await getText("logging", signal));
  } catch (error) {
    if (!signal.aborted) showMessage(message, error.message, true);
  }
}

function describe(filter) {
  const rows = filter.split(",").map((part) => {
    const [module, level] = part.split("=");
    return level === undefined ? ["(default)", module] : [module, level];
  });
  return table("Active log levels", ["Module", "Level"], rows);
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
      "Reset to configuration",
    ),
    h(
      "p",
      { id: "module-hint", class: "quiet" },
      "For example proxy, policy or identity; empty for the default level.",
    ),
  );
}
