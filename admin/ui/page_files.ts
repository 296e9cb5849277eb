import api from "./page/api.js" with { type: "text" };
import budgets from "./page/budgets.js" with { type: "text" };
import connectors from "./page/connectors.js" with { type: "text" };
import dom from "./page/dom.js" with { type: "text" };
import failures from "./page/failures.js" with { type: "text" };
import frame from "./page/frame.css" with { type: "text" };
import flameGraph from "./page/flame_graph.js" with { type: "text" };
import html from "./page/index.html" with { type: "text" };
import keys from "./page/keys.js" with { type: "text" };
import logging from "./page/logging.js" with { type: "text" };
import login from "./page/login.js" with { type: "text" };
import longList from "./page/long_list.js" with { type: "text" };
import main from "./page/main.js" with { type: "text" };
import metricsText from "./page/metrics_text.js" with { type: "text" };
import overview from "./page/overview.js" with { type: "text" };
import parts from "./page/parts.css" with { type: "text" };
import poll from "./page/poll.js" with { type: "text" };
import pprof from "./page/pprof.js" with { type: "text" };
import profiles from "./page/profiles.js" with { type: "text" };
import routeModel from "./page/route_model.js" with { type: "text" };
import routes from "./page/routes.js" with { type: "text" };
import trace from "./page/trace.js" with { type: "text" };
import traceEvents from "./page/trace_events.js" with { type: "text" };
import traceTable from "./page/trace_table.js" with { type: "text" };
import views from "./page/views.css" with { type: "text" };

/** A file of the page. */
export interface PageFile {
  readonly contentType: string;
  readonly text: string;
}

/** Embedded files of the page by name; the document has the empty name. */
export const pageFiles: ReadonlyMap<string, PageFile> = new Map([
  ["", { contentType: "text/html; charset=utf-8", text: html }],
  ...filesOf("css", "text/css", { frame, parts, views }),
  ...filesOf("js", "text/javascript", {
    api,
    budgets,
    connectors,
    dom,
    failures,
    flame_graph: flameGraph,
    keys,
    logging,
    login,
    long_list: longList,
    main,
    metrics_text: metricsText,
    overview,
    poll,
    pprof,
    profiles,
    route_model: routeModel,
    routes,
    trace,
    trace_events: traceEvents,
    trace_table: traceTable,
  }),
]);

function filesOf(
  extension: string,
  type: string,
  texts: Readonly<Record<string, string>>,
): [string, PageFile][] {
  const contentType = `${type}; charset=utf-8`;
  return Object.entries(texts).map((
    [name, text],
  ) => [`${name}.${extension}`, { contentType, text }]);
}
