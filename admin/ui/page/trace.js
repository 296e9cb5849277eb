/** Waits for requests and shows what happens to them while it happens. */
import { events } from "./api.js";
import { h, remember, say, setText } from "./dom.js";
import { RequestLog } from "./trace_events.js";
import { TraceTable } from "./trace_table.js";

export function show(content, { signal, argument, status }) {
  // On a gateway, what this page asks is traced as well.
  const others = status.server === "gateway"
    ? '!request.path.startsWith("/ui/")'
    : "";
  new LiveTrace(content, signal, argument || others);
}

class LiveTrace {
  #said = h("p", { role: "status" }, "Nothing is watched.");
  #list = h("ol", { class: "requests", "aria-label": "Traced requests" });
  #table = new TraceTable("Events of the request");
  #log = new RequestLog();
  #buttons = new Map();
  #shown;
  #watching;
  #filter;
  #count;
  #start = h("button", { class: "main" }, "Watch");
  #stop = h("button", {
    type: "button",
    disabled: true,
    onclick: () => this.#watching?.abort(),
  }, "Stop");

  constructor(content, signal, filter) {
    this.#filter = h("input", {
      name: "filter",
      class: "wide",
      value: filter,
      placeholder: 'request.path.startsWith("/mcp")',
      spellcheck: "false",
    });
    this.#count = h("input", {
      name: "count",
      type: "number",
      min: 1,
      max: 1000,
      value: 1,
      required: true,
    });
    const onsubmit = (event) => {
      event.preventDefault();
      this.#watch();
    };
    content.append(
      h(
        "form",
        { class: "row", onsubmit },
        h("label", { class: "wide" }, "Filter (CEL) ", this.#filter),
        h("label", {}, "Requests ", this.#count),
        this.#start,
        this.#stop,
      ),
      this.#said,
      this.#list,
      this.#table.element,
    );
    signal.addEventListener("abort", () => this.#watching?.abort());
  }

  async #watch() {
    this.#reset();
    remember("trace", this.#filter.value);
    const watching = new AbortController();
    this.#watching = watching;
    this.#setWatching(true);
    const query = new URLSearchParams({ count: this.#count.value });
    if (this.#filter.value !== "") query.set("filter", this.#filter.value);
    try {
      const onReady = () => say(this.#said, "Waiting for requests that fit.");
      const options = { signal: watching.signal, onReady };
      for await (const event of events(`trace?${query}`, options)) {
        this.#add(event);
      }
      say(this.#said, this.#summary("Done"));
    } catch (error) {
      const isStopped = watching.signal.aborted;
      if (isStopped) say(this.#said, this.#summary("Stopped"));
      else say(this.#said, error.message, true);
    } finally {
      this.#setWatching(false);
    }
  }

  #summary(end) {
    const count = this.#log.requests.length;
    return `${end}: ${count} ${count === 1 ? "request" : "requests"} traced.`;
  }

  #setWatching(isWatching) {
    this.#start.disabled = isWatching;
    this.#stop.disabled = !isWatching;
  }

  #reset() {
    this.#log = new RequestLog();
    this.#buttons.clear();
    this.#list.replaceChildren();
    this.#shown = undefined;
    this.#table.show([]);
  }

  #add(event) {
    const request = this.#log.add(event);
    const button = this.#buttons.get(request) ?? this.#createButton(request);
    setText(button, request.title);
    if (this.#shown === undefined) this.#choose(request);
    else if (this.#shown === request) this.#table.add(event);
  }

  #createButton(request) {
    const button = h("button", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => this.#choose(request),
    });
    this.#buttons.set(request, button);
    this.#list.append(h("li", {}, button));
    return button;
  }

  #choose(request) {
    this.#buttons.get(this.#shown)?.setAttribute("aria-pressed", "false");
    this.#buttons.get(request)?.setAttribute("aria-pressed", "true");
    this.#shown = request;
    this.#table.show(request.events);
  }
}
