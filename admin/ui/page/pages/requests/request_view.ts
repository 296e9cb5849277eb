/** The address of the page of requests: filter and open request. */

/** Outcomes to choose from. */
export const outcomes = [
  { value: "", title: "All" },
  { value: "succeeded", title: "Succeeded" },
  { value: "failed", title: "Failed" },
  { value: "4xx", title: "4xx" },
  { value: "5xx", title: "5xx" },
] as const;

/** One of `outcomes`. */
export type Outcome = typeof outcomes[number]["value"];

/** Texts to search for; empty for any. */
export interface RequestFilter {
  readonly status: Outcome;
  readonly text: string;
  readonly route: string;
  readonly model: string;
  readonly key: string;
  readonly mcpServer: string;
  readonly mcpTool: string;
}

/** A filter, and the request that is open. */
export interface RequestView {
  readonly filter: RequestFilter;
  readonly open: string | undefined;
}

/** The filter that every request passes. */
export const noFilter: RequestFilter = {
  status: "",
  text: "",
  route: "",
  model: "",
  key: "",
  mcpServer: "",
  mcpTool: "",
};

/** Parses the argument of the address, such as `status=failed&route=chat`. */
export function readView(argument: string): RequestView {
  const query = new URLSearchParams(argument);
  const read = (name: string) => query.get(name) ?? "";
  return {
    filter: {
      status: outcomes.find(({ value }) => value === read("status"))?.value ??
        "",
      text: read("text"),
      route: read("route"),
      model: read("model"),
      key: read("key"),
      mcpServer: read("mcpServer"),
      mcpTool: read("mcpTool"),
    },
    open: query.get("open") ?? undefined,
  };
}

/** Formats the argument of the address. */
export function writeView({ filter, open }: RequestView): string {
  const query = queryOf(filter);
  return open === undefined
    ? query
    : [query, `open=${encodeURIComponent(open)}`].filter(Boolean).join("&");
}

/** Formats a filter as the query of the endpoint. */
export function queryOf(filter: RequestFilter): string {
  const set = Object.entries(filter).filter(([, value]) => value !== "");
  return new URLSearchParams(set).toString();
}

/** Returns a CEL expression for requests like one. */
export function traceFilterOf(
  { method, path }: { readonly method: string; readonly path: string },
): string {
  return `request.method == ${JSON.stringify(method)} && request.path == ${
    JSON.stringify(path)
  }`;
}
