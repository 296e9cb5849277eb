/** An event of the Realtime API. */
type Event = Readonly<Record<string, unknown>>;

/** Acts as OpenAI's Realtime API: every `response.create` gets the next response, and `session.update` may change the model. */
export interface RealtimeProvider extends AsyncDisposable {
  readonly host: string;
  /** Header fields of the upgrades so far. */
  readonly upgrades: readonly Headers[];
  /** Path and query of the upgrades so far. */
  readonly targets: readonly string[];
  /** Resolves when that many sockets have been closed. */
  closed(count: number): Promise<void>;
}

/** Usage of a response of so many tokens; a tenth of the input is cached. */
export function realtimeUsage(input: number, output: number): Event {
  return {
    total_tokens: input + output,
    input_tokens: input,
    output_tokens: output,
    input_token_details: {
      text_tokens: input,
      audio_tokens: 0,
      cached_tokens: Math.floor(input / 10),
      cached_tokens_details: { text_tokens: input, audio_tokens: 0 },
    },
    output_token_details: { text_tokens: output, audio_tokens: 0 },
  };
}

/** Events of a response. */
export function realtimeResponse(
  usage: unknown,
  text: readonly string[] = ["Hel", "lo"],
): readonly Event[] {
  return [
    { type: "response.created", response: { id: "resp_1", usage: null } },
    ...text.map((delta) => ({ type: "response.output_text.delta", delta })),
    {
      type: "response.done",
      response: {
        id: "resp_1",
        object: "realtime.response",
        status: "completed",
        output: [{ content: [{ type: "output_text", text: text.join("") }] }],
        usage,
      },
    },
  ];
}

/** @param answer Returns the events for a `response.create`; waits for `proceed` before the last one if `holds`. */
export function startRealtimeProvider(
  answer: (turn: number) => readonly Event[],
  { proceed }: { readonly proceed?: Promise<void> } = {},
): RealtimeProvider {
  const upgrades: Headers[] = [];
  const targets: string[] = [];
  let ended = 0;
  let waiting: (() => void)[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => {
      if (request.headers.get("upgrade") !== "websocket") {
        return new Response("{}");
      }
      upgrades.push(new Headers(request.headers));
      const { pathname, search } = new URL(request.url);
      targets.push(pathname + search);
      const asked = request.headers.get("sec-websocket-protocol");
      const protocol = asked?.split(",")[0]?.trim();
      const { socket, response } = Deno.upgradeWebSocket(
        request,
        protocol === undefined ? {} : { protocol },
      );
      const send = (event: Event) => {
        if (socket.readyState === WebSocket.OPEN) {
          socket.send(JSON.stringify(event));
        }
      };
      let turn = 0;
      socket.onopen = () =>
        send({ type: "session.created", session: { model: "gpt-realtime" } });
      socket.onmessage = async ({ data }) => {
        const { type, session } = JSON.parse(data);
        if (type === "session.update") {
          return send({ type: "session.updated", session });
        }
        if (type !== "response.create") return;
        const events = answer(turn++);
        for (const event of events.slice(0, -1)) send(event);
        await proceed;
        for (const event of events.slice(-1)) send(event);
      };
      socket.onclose = () => {
        ended++;
        for (const check of waiting) check();
      };
      return response;
    },
  );
  return {
    host: `127.0.0.1:${server.addr.port}`,
    upgrades,
    targets,
    closed: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (ended >= count) resolve();
        };
        waiting = [...waiting, check];
        check();
      }),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
