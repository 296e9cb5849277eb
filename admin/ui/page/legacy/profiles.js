/** Takes a profile and shows it as a flame graph and an accessible table. */
import { request } from "./api.js";
import { bytes, h, number, showMessage, table } from "./dom.js";
import { buildTree, FlameGraph, hottest } from "./flame_graph.js";
import { readProfile } from "./pprof.js";

export function show(content, { signal, status }) {
  const message = h("p", { role: "status" }, "No profile yet.");
  const result = h("div");
  const seconds = h("input", {
    type: "number",
    min: 1,
    max: 300,
    value: 10,
    required: true,
  });
  const take = async (path, waiting) => {
    controls.disabled = true;
    showMessage(message, waiting);
    result.replaceChildren();
    try {
      const { body } = await request(path, { signal });
      const profile = await readProfile(body);
      result.replaceChildren(...describe(profile));
      showMessage(message, `Done: ${profile.samples.length} stacks.`);
    } catch (error) {
      if (!signal.aborted) showMessage(message, error.message, true);
    } finally {
      controls.disabled = false;
    }
  };
  const controls = h(
    "fieldset",
    { class: "row plain" },
    h("legend", { class: "unseen" }, "Take a profile"),
    status.profiles.includes("cpu") && [
      h("label", {}, "Seconds ", seconds),
      h("button", { class: "main" }, "CPU profile"),
    ],
    h("button", {
      type: "button",
      onclick: () => take("profiles/heap", "Taking a heap profile…"),
    }, "Heap profile"),
  );
  const onsubmit = (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ seconds: seconds.value });
    take(`profiles/cpu?${query}`, `Sampling for ${seconds.value} s…`);
  };
  content.append(h("form", { onsubmit }, controls), message, result);
}

function describe({ unit, samples }) {
  const tree = buildTree(samples);
  if (tree.total === 0) return [h("p", {}, "The profile is empty.")];
  const format = formats[unit] ?? ((value) => `${number(value)} ${unit}`);
  const rows = hottest(samples).slice(0, 30).map(({ name, own, total }) => [
    name,
    `${format(own)} (${number((own / tree.total) * 100)} %)`,
    `${format(total)} (${number((total / tree.total) * 100)} %)`,
  ]);
  return [
    new FlameGraph(tree, format).element,
    h("h2", {}, "Hottest functions"),
    table("Functions by their own amount", [
      "Function",
      "Self",
      "Total",
    ], rows),
  ];
}

const formats = {
  nanoseconds: (value) => `${number(value / 1e6)} ms`,
  bytes,
};
