/** Traces requests live. */
import { events } from "./api.js";
import { h, remember, setText, showMessage } from "./dom.js";
import { RequestLog } from "./trace_events.js";
import { TraceTable } from "./trace_table.js";

export function show(content, { signal, argument, status }) {
  // On a gateway, excludes the page's own requests.
  const defaultFilter = status.server === "gateway"
    ? '!request.path.startsWith("/ui/")'
    : "";
  new LiveTrace(content, signal, argument || defaultFilter);
}

class LiveTrace {
  #message = h("p", { role: "status" }, "Not tracing.");
  #list = h("ol", { class: "requests", "aria-label": "Traced requests" });
  #table = new TraceTable("Events of the request");
  #log = new RequestLog();
  #buttons = new Map();
  #shown;
  #tracing;
  #filter;
  #count;
  #start = h("button", { class: "main" }, "Trace");
  #stop = h("button", {
    type: "button",
    disabled: true,
    onclick: () => this.#tracing?.abort(),
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
      this.#trace();
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
      this.#message,
      this.#list,
      this.#table.element,
    );
    signal.addEventListener("abort", () => this.#tracing?.abort());
  }

  async #trace() {
    this.#reset();
    remember("trace", this.#filter.value);
    const tracing = new AbortController();
    this.#tracing = tracing;
    this.#setTracing(true);
    const query = new URLSearchParams({ count: this.#count.value });
    if (this.#filter.value !== "") query.set("filter", this.#filter.value);
    try {
      const onReady = () =>
        showMessage(this.#message, "Waiting for matching requests.");
      const options = { signal: tracing.signal, onReady };
      for await (const event of events(`trace?${query}`, options)) {
        this.#add(event);
      }
      showMessage(this.#message, this.#summary("Done"));
    } catch (error) {
      const isStopped = tracing.signal.aborted;
      if (isStopped) showMessage(this.#message, this.#summary("Stopped"));
      else showMessage(this.#message, error.message, true);
    } finally {
      this.#setTracing(false);
    }
  }

  #summary(end) {
    const count = this.#log.requests.length;
    return `${end}: ${count} ${count === 1 ? "request" : "requests"} traced.`;
  }

  #setTracing(isTracing) {
    this.#start.disabled = isTracing;
    this.#stop.disabled = !isTracing;
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
    if (this.#shown === undefined) this.#select(request);
    else if (this.#shown === request) this.#table.add(event);
  }

  #createButton(request) {
    const button = h("button", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => this.#select(request),
    });
    this.#buttons.set(request, button);
    this.#list.append(h("li", {}, button));
    return button;
  }

  #select(request) {
    this.#buttons.get(this.#shown)?.setAttribute("aria-pressed", "false");
    this.#buttons.get(request)?.setAttribute("aria-pressed", "true");
    this.#shown = request;
    this.#table.show(request.events);
  }
}
