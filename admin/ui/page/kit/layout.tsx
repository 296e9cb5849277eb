/** Frames of a page: its head, sections, empty states, messages. */
import { type ComponentChildren, useId } from "./framework.ts";

interface PageHeadProps {
  readonly title: string;
  /** One sentence under the title. */
  readonly about?: ComponentChildren;
  /** Controls at the right. */
  readonly actions?: ComponentChildren;
}

/** The head of a page: its only `h1`, a sentence, and controls. */
export function PageHead({ title, about, actions }: PageHeadProps) {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {about && <p class="quiet">{about}</p>}
      </div>
      {actions && <div class="row">{actions}</div>}
    </header>
  );
}

interface SectionProps {
  readonly title: string;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Removes the padding, for a table or a chart that fills the panel. */
  readonly isFlush?: boolean;
}

/** A panel with a heading of the second level. */
export function Section(
  { title, about, actions, children, isFlush = false }: SectionProps,
) {
  const id = useId();
  return (
    <section class={isFlush ? "panel flush" : "panel"} aria-labelledby={id}>
      <div class="panel-head">
        <div>
          <h2 id={id}>{title}</h2>
          {about && <p class="quiet">{about}</p>}
        </div>
        {actions && <div class="row">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

interface EmptyProps {
  readonly title: string;
  /** Says what to do. */
  readonly children: ComponentChildren;
  /** It is a panel of its own. */
  readonly isPanel?: boolean;
}

/** Stands in for data that does not exist yet, and says what to do. */
export function Empty({ title, children, isPanel = false }: EmptyProps) {
  const content = (
    <div class="empty">
      <p class="empty-title">{title}</p>
      <div class="quiet">{children}</div>
    </div>
  );
  return isPanel ? <section class="panel">{content}</section> : content;
}

/** Says that data is on its way; invisible at first, as most of it is there at once. */
export function Loading() {
  return <p class="loading quiet" role="status">Loading…</p>;
}

/** An error for the user, announced to screen readers; nothing while the text is empty. */
export function Problem(
  { children }: { readonly children: ComponentChildren },
) {
  return <p class="problem" role="status">{children}</p>;
}

/** A status message, announced to screen readers. */
export function Message(
  { children }: { readonly children: ComponentChildren },
) {
  return <p class="message" role="status">{children}</p>;
}

/** Meaning of a color. */
export type Tone = "good" | "warn" | "bad" | "info" | "quiet";

interface BadgeProps {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}

/** A word that names a state; the color repeats what the word says. */
export function Badge({ tone = "quiet", children }: BadgeProps) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Returns the tone of an HTTP status. */
export function toneOfStatus(status: number): Tone {
  if (status >= 500) return "bad";
  if (status >= 400) return "warn";
  return status >= 300 ? "info" : "good";
}
