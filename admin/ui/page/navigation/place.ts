/** The address of the page: `#page/argument`. It names what the user looks at, so that a reload and a link restore it. */
import { computed, signal } from "../kit/framework.ts";

/** A page, and what it shows. */
export interface Place {
  readonly page: string;
  /** Decoded; empty if there is none. */
  readonly argument: string;
}

/** The link that skips the navigation; it names no page. */
const SKIP = "#main";

const address = signal(location.hash);

/** The current place. */
export const place = computed(() => readPlace(address.value));

/** Number of navigations by links; after each, the focus moves to the new page. */
export const navigations = signal(0);

addEventListener("hashchange", () => {
  if (location.hash === SKIP) return;
  address.value = location.hash;
  navigations.value++;
});

/** Parses a fragment, such as `#trace/request.path%20%3D%3D%20%22%2F%22`. */
export function readPlace(fragment: string): Place {
  const [page = "", ...rest] = fragment.replace(/^#/, "").split("/");
  return { page, argument: decode(rest.join("/")) };
}

/** Formats the address of a place. */
export function linkTo(page: string, argument = ""): string {
  return argument === ""
    ? `#${page}`
    : `#${page}/${encodeURIComponent(argument)}`;
}

/** Changes the argument of the address without a new entry in the history. */
export function remember(page: string, argument: string): void {
  const current = location.hash === SKIP ? address.value : location.hash;
  // The user has followed a link to another page, which is not drawn yet.
  if (readPlace(current).page !== page) return;
  history.replaceState(null, "", linkTo(page, argument));
  address.value = location.hash;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
