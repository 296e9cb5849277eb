// The simplest possible proxy, as the lower bound for the gateway.
const [port, upstreamPort] = Deno.args;
Deno.serve(
  { port: Number(port), hostname: "127.0.0.1", onListen() {} },
  (request) => {
    const { pathname, search } = new URL(request.url);
    return fetch(`http://127.0.0.1:${upstreamPort}${pathname}${search}`, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      redirect: "manual",
    });
  },
);
