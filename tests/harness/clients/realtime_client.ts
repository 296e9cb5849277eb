/** Opens a WebSocket of the Realtime API as a client does. */
export async function openRealtime(
  origin: string,
  path = "/v1/realtime?model=gpt-realtime",
) {
  const socket = new WebSocket(`${origin.replace("http", "ws")}${path}`);
  const events: { readonly type: string }[] = [];
  let changed = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<CloseEvent>();
  const wake = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  socket.onmessage = ({ data }) => {
    events.push(JSON.parse(data));
    wake();
  };
  socket.onclose = (event) => closed.resolve(event);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = reject;
  });
  return {
    socket,
    events,
    closed: closed.promise,
    async received(type: string, count = 1) {
      while (events.filter((event) => event.type === type).length < count) {
        await changed.promise;
      }
    },
  };
}
