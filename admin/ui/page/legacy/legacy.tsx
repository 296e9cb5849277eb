import { useEffect, useRef } from "../kit/framework.ts";
import { PageHead } from "../kit/layout.tsx";
import type { PageProps } from "../app/page.ts";
import * as budgets from "./budgets.js";
import * as failuresView from "./failures.js";
import * as keysView from "./keys.js";
import * as loggingView from "./logging.js";
import * as profilesView from "./profiles.js";
import * as routes from "./routes.js";
import * as traceView from "./trace.js";

function legacy(
  title: string,
  view: {
    show: (
      content: HTMLElement,
      context: PageProps & { signal: AbortSignal },
    ) => unknown;
  },
) {
  return ({ argument, status }: PageProps) => {
    const element = useRef<HTMLDivElement>(null);
    useEffect(() => {
      const leaving = new AbortController();
      const content = document.createElement("div");
      element.current?.replaceChildren(content);
      view.show(content, { signal: leaving.signal, argument, status });
      return () => leaving.abort();
    }, [argument]);
    return (
      <>
        <PageHead title={title} />
        <div ref={element} />
      </>
    );
  };
}

export const limits = legacy("Limits", budgets);
export const failures = legacy("Failures", failuresView);
export const keys = legacy("Keys", keysView);
export const logging = legacy("Logging", loggingView);
export const profiles = legacy("Profiles", profilesView);
export const topology = legacy("Topology", routes);
export const trace = legacy("Trace", traceView);
