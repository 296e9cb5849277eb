/** Sends requests to the gateway. All URLs are relative, so that the page works under any prefix. */
import { promptForToken } from "./login.js";

const TOKEN_KEY = "gateway-admin-token";
const TIMEOUT_MS = 10_000;
const NO_RESPONSE = "The gateway does not respond";

/** An unsuccessful response; `status` is 0 without a response. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Returns the response as JSON. */
export async function getJson(path, signal) {
  return JSON.parse(await getText(path, signal));
}

/** Returns the response as text. */
export async function getText(path, signal) {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
  try {
    return (await (await request(path, { signal: either })).text()).trim();
  } catch (error) {
    if (timeout.aborted && !signal?.aborted) throw new ApiError(0, NO_RESPONSE);
    throw error;
  }
}

/** Posts without a body; returns the response as text. */
export async function post(path) {
  return (await (await request(path, { method: "POST" })).text()).trim();
}

/**
 * Returns a successful response. Prompts for the token when the admin interface requires one, and retries.
 * @throws {ApiError}
 */
export async function request(path, options = {}) {
  for (let problem = "";;) {
    const response = await send(path, options);
    if (response.ok) return response;
    if (!requiresToken(response)) {
      // The other lines describe the endpoint to users of curl.
      const [text] = (await response.text()).trim().split("\n");
      throw new ApiError(response.status, text || `status ${response.status}`);
    }
    await response.body?.cancel();
    if (sessionStorage.getItem(TOKEN_KEY) !== null) {
      problem = "Invalid token.";
    }
    sessionStorage.setItem(TOKEN_KEY, await promptForToken(problem));
  }
}

async function send(path, options) {
  const token = sessionStorage.getItem(TOKEN_KEY);
  const headers = token === null ? {} : { authorization: `Bearer ${token}` };
  try {
    return await fetch(`api/${path}`, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, NO_RESPONSE);
  }
}

/** Reports whether the admin token is required, as opposed to the token of a gateway's policy. */
function requiresToken({ status, headers }) {
  return status === 401 &&
    /^bearer realm="gateway admin"/i.test(
      headers.get("www-authenticate") ?? "",
    );
}

/** Yields the `data:` of server-sent events; calls `onReady` when the server is ready. */
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
