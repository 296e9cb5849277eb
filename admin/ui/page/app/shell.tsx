/** The frame of all pages: navigation, state of the gateway, theme, notices, and the dialog for the admin token. */
import { useLayoutEffect, useRef, useSignal } from "../kit/framework.ts";
import { Icon } from "../kit/icons.tsx";
import { Badge, Message, PageHead, type Tone } from "../kit/layout.tsx";
import { Time } from "../kit/data.tsx";
import { nextTheme, theme } from "../kit/theme.ts";
import type { UiStatus } from "../../responses.ts";
import { status, statusError } from "../server/status.ts";
import { TokenDialog } from "./token_dialog.tsx";
import type { Page } from "../navigation/page.ts";
import { pages } from "./pages.ts";
import { linkTo, navigations, place } from "../navigation/place.ts";

/** Everything in the body of the document. */
export function Shell() {
  const main = useRef<HTMLElement>(null);
  const current = status.value;
  const shown = current &&
    pages.filter(({ isAvailable }) => isAvailable?.(current) ?? true);
  const page = shown &&
    (shown.find(({ id }) => id === place.value.page) ?? shown[0]);
  // Before the next key is pressed.
  useLayoutEffect(() => {
    document.title = page === undefined ? "Gateway" : `${page.title} – Gateway`;
  }, [page]);
  useLayoutEffect(() => {
    if (navigations.value === 0) return;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [navigations.value]);
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <Navigation pages={shown ?? []} page={page} />
      <main id="main" tabIndex={-1} ref={main}>
        {current && <Notice status={current} />}
        {current && page
          ? (
            <page.View
              key={page.id}
              argument={place.value.argument}
              status={current}
            />
          )
          : <Waiting />}
      </main>
      <TokenDialog />
    </>
  );
}

function Waiting() {
  return (
    <>
      <PageHead title="Gateway" />
      <Message>{statusError.value || "Waiting for the gateway…"}</Message>
    </>
  );
}

interface NavigationProps {
  readonly pages: readonly Page[];
  readonly page: Page | undefined;
}

function Navigation({ pages, page }: NavigationProps) {
  const isOpen = useSignal(false);
  const close = () => {
    isOpen.value = false;
  };
  // Not with the first page, which comes with the status: somebody may have opened the menu before.
  useLayoutEffect(close, [navigations.value]);
  const groups = [...Map.groupBy(pages, ({ group }) => group)];
  return (
    <header
      class={isOpen.value ? "side open" : "side"}
      onKeyDown={(event) => event.key === "Escape" && close()}
    >
      <div class="brand">
        <span class="logo" aria-hidden="true" />
        <span class="brand-name">Gateway</span>
        <Readiness />
        <button
          type="button"
          class="menu"
          aria-expanded={isOpen.value}
          aria-controls="views"
          aria-label="Menu"
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          <Icon name="menu" />
        </button>
      </div>
      <nav id="views" aria-label="Pages">
        {groups.map(([group, members]) => (
          <div key={group} class="group">
            <p class="group-title" id={`group-${group}`}>{group}</p>
            <ul aria-labelledby={`group-${group}`}>
              {members.map((each) => (
                <li key={each.id}>
                  <a
                    href={linkTo(each.id)}
                    aria-current={each === page ? "page" : undefined}
                    onClick={close}
                  >
                    <Icon name={each.id} />
                    {each.title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <button type="button" class="theme" onClick={nextTheme}>
          <Icon name="theme" />
          Theme: {theme.value}
        </button>
        <Account />
      </nav>
    </header>
  );
}

/** The user who is logged in. */
function Account() {
  const { user, role } = status.value ?? {};
  if (!user) return null;
  return (
    <p class="account">
      <span title={`${user.subject} at ${user.issuer}`}>{user.name}</span>{" "}
      <Badge>{role ?? ""}</Badge> <a href="login/logout">Sign out</a>
    </p>
  );
}

const toneOfReadiness: Readonly<Record<UiStatus["readiness"], Tone>> = {
  ready: "good",
  starting: "warn",
  stuck: "bad",
  draining: "warn",
};

function Readiness() {
  const error = statusError.value;
  const readiness = status.value?.readiness;
  return (
    <span id="readiness" role="status">
      {error !== ""
        ? <Badge tone="bad">{error}</Badge>
        : readiness && (
          <Badge tone={toneOfReadiness[readiness]}>{readiness}</Badge>
        )}
    </span>
  );
}

function Notice({ status: { lastRejected } }: { readonly status: UiStatus }) {
  return (
    <div class="notices" role="alert">
      {lastRejected && (
        <p class="notice">
          <strong>The last configuration was rejected</strong>{" "}
          (<Time at={lastRejected.at} />); the previous one is active.{" "}
          <a href={linkTo("overview")}>Show details</a>
        </p>
      )}
    </div>
  );
}
