/** Asks the gateway. Every address is relative, so the page works under any prefix. */
import { askForToken } from "./login.js";

const TOKEN_KEY = "gateway-admin-token";
const LONGEST_WAIT_MS = 10_000;
const SILENCE = "The gateway does not answer";

/** An answer that is no success; `status` 0 when there was none. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The answer as JSON. */
export async function getJson(path, signal) {
  return JSON.parse(await getText(path, signal));
}

/** The answer as text. */
export async function getText(path, signal) {
  const late = AbortSignal.timeout(LONGEST_WAIT_MS);
  const either = signal ? AbortSignal.any([signal, late]) : late;
  try {
    return (await (await request(path, { signal: either })).text()).trim();
  } catch (error) {
    if (late.aborted && !signal?.aborted) throw new ApiError(0, SILENCE);
    throw error;
  }
}

/** Posts without a body; answers the text. */
export async function post(path) {
  return (await (await request(path, { method: "POST" })).text()).trim();
}

/**
 * The answer, once it is a success. Asks for the token when the admin interface wants one, and tries again.
 * @throws {ApiError}
 */
export async function request(path, options = {}) {
  for (let problem = "";;) {
    const response = await send(path, options);
    if (response.ok) return response;
    if (!wantsToken(response)) {
      const text = (await response.text()).trim();
      throw new ApiError(response.status, text || `status ${response.status}`);
    }
    await response.body?.cancel();
    if (sessionStorage.getItem(TOKEN_KEY) !== null) {
      problem = "This token was not accepted.";
    }
    sessionStorage.setItem(TOKEN_KEY, await askForToken(problem));
  }
}

async function send(path, options) {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  try {
    return await fetch(`api/${path}`, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, SILENCE);
  }
}

/** Not for what a policy of a gateway wants: that token is another one. */
function wantsToken({ status, headers }) {
  return status === 401 &&
    /^bearer realm="gateway admin"/i.test(
      headers.get("www-authenticate") ?? "",
    );
}

/** Each `data:` of a stream of server-sent events, as it comes; `onReady` hears that the server listens. */
export async function* events(path, { signal, onReady }) {
  const { body } = await request(path, { signal });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      if (block === ": ready") onReady();
      if (block.startsWith("data: ")) yield JSON.parse(block.slice(6));
    }
  }
}
