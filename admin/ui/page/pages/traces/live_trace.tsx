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
  const trace = useTrace();
  const { requests, selected } = trace;
  const shown = requests[selected];
  return (
    <>
      <PageHead
        title="Trace"
        about="Follow the next requests through listener, policies, route and backend. Secrets are redacted."
      />
      <TraceForm
        initial={initial}
        isTracing={trace.isTracing}
        onStart={(filter, count) => {
          remember("trace", filter);
          trace.start(filter, count);
        }}
        onStop={trace.stop}
      />
      <Problem>{trace.problem}</Problem>
      <Message>{trace.message}</Message>
      {requests.length > 0
        ? <TracedRequests trace={trace} />
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

interface TraceFormProps {
  readonly initial: string;
  readonly isTracing: boolean;
  readonly onStart: (filter: string, count: string) => void;
  readonly onStop: () => void;
}

function TraceForm({ initial, isTracing, onStart, onStop }: TraceFormProps) {
  const [filter, setFilter] = useState(initial);
  const [count, setCount] = useState("1");
  return (
    <Form onSubmit={() => onStart(filter, count)} label="Trace">
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
      <Button isMain isDisabled={isTracing}>Trace</Button>
      <Button isDisabled={!isTracing} onPress={onStop}>Stop</Button>
    </Form>
  );
}

function TracedRequests(
  { trace: { requests, selected, select } }: {
    readonly trace: Pick<
      ReturnType<typeof useTrace>,
      "requests" | "selected" | "select"
    >;
  },
) {
  return (
    <ol class="requests" aria-label="Traced requests">
      {requests.map((request, index) => (
        <li key={request.number}>
          <Button
            isPressed={index === selected}
            onPress={() => select(index)}
          >
            {request.title}
          </Button>
        </li>
      ))}
    </ol>
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
    const end = (how: string) => setMessage(summaryOf(how, traced.length));
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

function summaryOf(how: string, count: number): string {
  return `${how}: ${count} ${count === 1 ? "request" : "requests"} traced.`;
}
