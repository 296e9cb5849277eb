/** Traces requests live. */
import type { PageProps } from "../../navigation/page.ts";
import { remember } from "../../navigation/place.ts";
import { useEffect, useMemo, useRef, useState } from "../../kit/framework.ts";
import { Button, Field, Form } from "../../kit/inputs.tsx";
import { Empty, Message, PageHead, Problem } from "../../kit/layout.tsx";
import { messageOf, traceEvents } from "../../server/api.ts";
import { addEvent, type TracedRequest } from "./trace_events.ts";
import { TraceTable } from "./trace_table.tsx";

/** The page that follows requests through the gateway. */
export function LiveTrace({ argument, status }: PageProps) {
  // On a gateway, excludes the page's own requests.
  const initial = useMemo(
    () =>
      argument ||
      (status.server === "gateway" ? '!request.path.startsWith("/ui/")' : ""),
    [],
  );
  const [filter, setFilter] = useState(initial);
  const [count, setCount] = useState("1");
  const trace = useTrace();
  const { requests, selected } = trace;
  const start = () => {
    remember("trace", filter);
    trace.start(filter, count);
  };
  const shown = requests[selected];
  return (
    <>
      <PageHead
        title="Trace"
        about="Follow the next requests through listener, policies, route and backend. Secrets are redacted."
      />
      <Form onSubmit={start} label="Trace">
        <Field label="Filter (CEL)" isWide>
          <input
            name="filter"
            class="mono"
            value={filter}
            placeholder='request.path.startsWith("/mcp")'
            spellcheck={false}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </Field>
        <Field label="Requests">
          <input
            name="count"
            type="number"
            min={1}
            max={1000}
            required
            value={count}
            onInput={({ currentTarget }) => setCount(currentTarget.value)}
          />
        </Field>
        <Button isMain isDisabled={trace.isTracing}>Trace</Button>
        <Button isDisabled={!trace.isTracing} onPress={trace.stop}>Stop</Button>
      </Form>
      <Problem>{trace.problem}</Problem>
      <Message>{trace.message}</Message>
      {requests.length > 0
        ? (
          <ol class="requests" aria-label="Traced requests">
            {requests.map((request, index) => (
              <li key={request.number}>
                <Button
                  isPressed={index === selected}
                  onPress={() => trace.select(index)}
                >
                  {request.title}
                </Button>
              </li>
            ))}
          </ol>
        )
        : !trace.isTracing && (
          <Empty title="See what happens to a request">
            Press Trace, then send a request. A filter such as{" "}
            <code>request.headers["x-team"] == "blue"</code> selects among many.
          </Empty>
        )}
      {shown && (
        <section class="panel" aria-label={shown.title}>
          <TraceTable
            key={shown.number}
            label="Events of the request"
            events={shown.events}
          />
        </section>
      )}
    </>
  );
}

function useTrace() {
  const [requests, setRequests] = useState<readonly TracedRequest[]>([]);
  const [selected, select] = useState(0);
  const [message, setMessage] = useState("Not tracing.");
  const [problem, setProblem] = useState("");
  const [isTracing, setTracing] = useState(false);
  const tracing = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => tracing.current?.abort(), []);
  const run = async (
    filter: string,
    count: string,
    stopping: AbortController,
  ) => {
    let traced: readonly TracedRequest[] = [];
    const query = new URLSearchParams({ count });
    if (filter !== "") query.set("filter", filter);
    const end = (how: string) =>
      setMessage(
        `${how}: ${traced.length} ${
          traced.length === 1 ? "request" : "requests"
        } traced.`,
      );
    try {
      const stream = traceEvents(query, {
        signal: stopping.signal,
        onReady: () => setMessage("Waiting for matching requests."),
      });
      for await (const event of stream) {
        traced = addEvent(traced, event);
        setRequests(traced);
      }
      end("Done");
    } catch (error) {
      if (stopping.signal.aborted) end("Stopped");
      else {
        setMessage("");
        setProblem(messageOf(error));
      }
    } finally {
      setTracing(false);
    }
  };
  return {
    requests,
    selected,
    select,
    message,
    problem,
    isTracing,
    start(filter: string, count: string) {
      const stopping = new AbortController();
      tracing.current = stopping;
      setRequests([]);
      select(0);
      setProblem("");
      setTracing(true);
      void run(filter, count, stopping);
    },
    stop: () => tracing.current?.abort(),
  };
}
