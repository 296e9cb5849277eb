/** Buttons, fields and tabs. */
import {
  type ComponentChildren,
  type TargetedKeyboardEvent,
  useId,
  useState,
} from "./framework.ts";

interface ButtonProps {
  readonly children: ComponentChildren;
  /** The main action of a form, which Enter starts too. */
  readonly isMain?: boolean;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean | undefined;
  /** Without it, the button submits its form. */
  readonly onPress?: (() => void) | undefined;
  /** Names a button that shows no text. */
  readonly label?: string;
  readonly class?: string;
}

/** A button. */
export function Button(
  { children, isMain, isDisabled, isPressed, onPress, label, class: name = "" }:
    ButtonProps,
) {
  return (
    <button
      type={onPress === undefined ? "submit" : "button"}
      class={`${isMain ? "main" : ""} ${name}`.trim() || undefined}
      disabled={isDisabled}
      aria-pressed={isPressed}
      aria-label={label}
      title={label}
      onClick={onPress}
    >
      {children}
    </button>
  );
}

interface RevokeButtonProps {
  /** Names for screen readers what is revoked. */
  readonly of: string;
  readonly onRevoke: () => void;
}

/** A small button that revokes something, at the second press. */
export function RevokeButton({ of, onRevoke }: RevokeButtonProps) {
  const [isSure, setSure] = useState(false);
  return (
    <Button
      class="small"
      label={isSure ? `Revoke ${of} for good` : `Revoke ${of}`}
      onPress={() => isSure ? onRevoke() : setSure(true)}
    >
      {isSure ? "Revoke for good?" : "Revoke"}
    </Button>
  );
}

interface FieldProps {
  readonly label: string;
  /** The control. */
  readonly children: ComponentChildren;
  /** Takes the space that is left in the row. */
  readonly isWide?: boolean;
}

/** A control with its label above. */
export function Field({ label, children, isWide }: FieldProps) {
  return (
    <label class={isWide ? "field wide" : "field"}>
      <span>{label}</span>
      {children}
    </label>
  );
}

interface FindProps {
  readonly text: string;
  readonly onFind: (text: string) => void;
  /** Says what is searched. */
  readonly placeholder: string;
}

/** A field for a text to find. */
export function Find({ text, onFind, placeholder }: FindProps) {
  return (
    <Field label="Find">
      <input
        type="search"
        placeholder={placeholder}
        value={text}
        onInput={({ currentTarget }) => onFind(currentTarget.value)}
      />
    </Field>
  );
}

interface FormProps {
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
  readonly label?: string;
}

/** A row of controls; Enter submits it. */
export function Form({ onSubmit, children, label }: FormProps) {
  return (
    <form
      class="row"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly title: string }[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}

/** A list to choose one of several values from. */
export function Choice<T extends string>(
  { label, options, value, onChange }: ChoiceProps<T>,
) {
  return (
    <Field label={label}>
      <select
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = options.find((each) =>
            each.value === currentTarget.value
          );
          if (chosen !== undefined) onChange(chosen.value);
        }}
      >
        {options.map((each) => (
          <option key={each.value} value={each.value}>{each.title}</option>
        ))}
      </select>
    </Field>
  );
}

/** Buttons of which one is pressed, for two to five short values such as `15 min`, `1 h`, `24 h`. */
export function Segments<T extends string>(
  { label, options, value, onChange }: ChoiceProps<T>,
) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map((each) => (
        <Button
          key={each.value}
          isPressed={each.value === value}
          onPress={() => onChange(each.value)}
        >
          {each.title}
        </Button>
      ))}
    </div>
  );
}

const steps = new Map([["ArrowRight", 1], ["ArrowLeft", -1]]);

interface TabsProps<T extends string> extends ChoiceProps<T> {
  readonly children: ComponentChildren;
}

/** Tabs with a panel, whose content is that of the selected tab. Arrow keys move between tabs. */
export function Tabs<T extends string>(
  { label, options, value, onChange, children }: TabsProps<T>,
) {
  const id = useId();
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = steps.get(event.key);
    if (step === undefined) return;
    const at = options.findIndex((each) => each.value === value) + step;
    const next = options[(at + options.length) % options.length];
    if (next === undefined) return;
    event.preventDefault();
    onChange(next.value);
    event.currentTarget.querySelector<HTMLElement>(
      `[data-tab="${next.value}"]`,
    )?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {options.map((each) => (
          <button
            key={each.value}
            type="button"
            role="tab"
            id={`${id}-${each.value}`}
            data-tab={each.value}
            aria-selected={each.value === value}
            aria-controls={`${id}-panel`}
            tabIndex={each.value === value ? 0 : -1}
            onClick={() => onChange(each.value)}
          >
            {each.title}
          </button>
        ))}
      </div>
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${value}`}
      >
        {children}
      </div>
    </div>
  );
}
