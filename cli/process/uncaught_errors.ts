import type { Log } from "../../src/base/log/log.ts";

/** Logs uncaught errors: a bug in one request must not end all others. */
export function surviveErrors(log: Log): void {
  addEventListener("error", (event) => {
    event.preventDefault();
    log.error("Uncaught error", {
      error: event.error,
      stack: stackOf(event.error),
    });
  });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", {
      error: event.reason,
      stack: stackOf(event.reason),
    });
  });
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
