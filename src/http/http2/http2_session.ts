import type { Http2Session } from "node:http2";
import { nextTick } from "node:process";

/**
 * Makes `session` end a moment after it is told to; call before it reads.
 *
 * Deno 2.9 frees a session that is destroyed within one of its events while it is still reading, and the process aborts. Node
 * itself destroys it there, when the peer sends GOAWAY with an error or answers a ping that nobody sent.
 */
export function destroyLater(session: Http2Session): void {
  const destroy = session.destroy.bind(session);
  session.destroy = (error, code) => {
    nextTick(() => destroy(error, code));
  };
}
