import { describeError } from "../../src/base/errors.ts";
import type { KubernetesApi } from "../../src/cluster/client/kubernetes_api.ts";
import type { GatewayPod } from "./gateway_pods.ts";

/** A port of a pod, reachable on this machine; disposing it ends its connections. */
export interface ForwardedPort extends AsyncDisposable {
  /** `unix:<path>` or `host:port`. */
  readonly address: string;
}

/** Frames begin with their channel: data, or an error message. */
const DATA_CHANNEL = 0;
/** The first frame of each channel has its port. */
const PORT_FRAME_LENGTH = 3;
/** Subprotocol of the kubelet. https://pkg.go.dev/k8s.io/kubelet/pkg/cri/streaming/portforward */
const PROTOCOL = "v4.channel.k8s.io";
/** Bytes that may wait for the API server before the sender has to. */
const MAX_BUFFERED_BYTES = 1 << 20;

/** Forwards connections to a port of a pod, through the API server, as `kubectl port-forward` does. */
export async function forwardPort(
  api: KubernetesApi,
  { namespace, name }: GatewayPod,
  port: number,
): Promise<ForwardedPort> {
  const path =
    `/api/v1/namespaces/${namespace}/pods/${name}/portforward?ports=${port}`;
  const { listener, address, remove } = await listen();
  const connections = new Set<Deno.Conn>();
  const accepting = (async () => {
    for await (const connection of listener) {
      connections.add(connection);
      void bridge(connection, () => api.openSocket(path, PROTOCOL)).finally(
        () => connections.delete(connection),
      );
    }
  })();
  return {
    address,
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of connections) close(connection);
      await accepting;
      await remove();
    },
  };
}

/** Listens where only this user can connect, if the system has such a place. */
async function listen() {
  if (Deno.build.os === "windows") {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const address = `127.0.0.1:${listener.addr.port}`;
    return { listener, address, remove: () => Promise.resolve() };
  }
  const folder = await Deno.makeTempDir({ prefix: "gwctl." });
  const path = `${folder}/admin.sock`;
  return {
    listener: Deno.listen({ transport: "unix", path }),
    address: `unix:${path}`,
    remove: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Copies bytes between a connection and the pod until one of them ends. */
async function bridge(
  connection: Deno.Conn,
  open: () => Promise<WebSocket>,
): Promise<void> {
  try {
    const socket = await open();
    const receiving = receive(socket, connection);
    for await (const chunk of connection.readable) {
      while (socket.bufferedAmount > MAX_BUFFERED_BYTES) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      if (socket.readyState !== WebSocket.OPEN) break;
      const frame = new Uint8Array(chunk.length + 1);
      frame[0] = DATA_CHANNEL;
      frame.set(chunk, 1);
      socket.send(frame);
    }
    socket.close();
    await receiving;
  } catch {
    // The command sees that its connection has ended, and says so.
    close(connection);
  }
}

/** Writes what the pod sends; ends with the connection, and ends it. */
async function receive(
  socket: WebSocket,
  connection: Deno.Conn,
): Promise<void> {
  const writer = connection.writable.getWriter();
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen = new Set<number>();
  let writing: Promise<unknown> = Promise.resolve();
  socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
    const frame = new Uint8Array(data);
    const channel = frame[0] ?? DATA_CHANNEL;
    if (!seen.has(channel) && frame.length === PORT_FRAME_LENGTH) {
      seen.add(channel);
    } else if (channel === DATA_CHANNEL) {
      writing = writing.then(() => writer.write(frame.subarray(1)));
      writing.catch(() => socket.close());
    } else socket.close();
  };
  socket.onclose = () => resolve();
  socket.onerror = () => resolve();
  await promise;
  await writing.catch(describeError);
  close(connection);
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
