/** A flame graph: the outermost call is on top, the width of a call is its total, a click zooms in. */
import { number } from "../../kit/format.ts";
import {
  type ComponentChildren,
  type TargetedKeyboardEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../../kit/framework.ts";
import { Button, Find } from "../../kit/inputs.tsx";
import {
  type Call,
  colorOf,
  layOut,
  type PlacedCall,
  totalOf,
} from "./flame_tree.ts";

const ROW_HEIGHT = 22;
/** Custom properties in `style/tokens.css`. */
const COLORS = 5;

interface FlameGraphProps {
  readonly root: Call;
  /** Formats an amount with its unit. */
  readonly format: (amount: number) => string;
}

/** Shows a tree of calls. Arrow keys move along the calls, which are a single tab stop; Enter zooms in. */
export function FlameGraph({ root, format }: FlameGraphProps) {
  const [path, setPath] = useState<readonly Call[]>([root]);
  const [find, setFind] = useState("");
  const [focused, setFocused] = useState(0);
  const element = useRef<HTMLDivElement>(null);
  const calls = useMemo(() => layOut(path), [path]);
  const zoomed = path.at(-1) ?? root;
  const amount = (total: number) =>
    `${format(total)}, ${number((total / root.total) * 100)} %`;
  const describe = ({ name, total }: Call) => `${name}: ${amount(total)}`;
  const text = find.trim().toLowerCase();
  const zoom = (to: readonly Call[]) => {
    setPath(to);
    setFocused(to.length - 1);
  };
  const focus = (index: number) => {
    setFocused(index);
    element.current?.querySelectorAll("button")[index]?.focus();
  };
  // The call that was zoomed keeps the focus, before the next key is pressed.
  useLayoutEffect(() => {
    if (path.length > 1) {
      element.current?.querySelectorAll("button")[path.length - 1]?.focus();
    }
  }, [path]);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const goal = goalOf(event.key, calls, focused);
    if (goal === undefined) return;
    event.preventDefault();
    focus(goal);
  };
  const depth = Math.max(...calls.map((each) => each.path.length));
  return (
    <section class="stack" aria-label="Flame graph">
      <Finder text={find} onFind={setFind} onShowAll={() => zoom([root])}>
        {text !== "" && `Found: ${amount(totalOf(zoomed, text))}`}
      </Finder>
      <p class="quiet" role="status">{describe(zoomed)}</p>
      <div
        ref={element}
        class="flames"
        role="group"
        aria-label="Calls; arrow keys move, Enter zooms in"
        style={{ height: `${depth * ROW_HEIGHT}px` }}
        onKeyDown={onKeyDown}
      >
        {calls.map((each, index) => (
          <Flame
            key={index}
            placed={each}
            title={describe(each.call)}
            text={text}
            isFocused={index === focused}
            onZoom={zoom}
          />
        ))}
      </div>
    </section>
  );
}

interface FinderProps {
  readonly text: string;
  readonly onFind: (text: string) => void;
  readonly onShowAll: () => void;
  /** The result of the search. */
  readonly children: ComponentChildren;
}

function Finder({ text, onFind, onShowAll, children }: FinderProps) {
  return (
    <div class="row">
      <Find placeholder="function or file" text={text} onFind={onFind} />
      <Button onPress={onShowAll}>Show all</Button>
      <p class="quiet" aria-live="polite">
        {children}
      </p>
    </div>
  );
}

interface FlameProps {
  readonly placed: PlacedCall;
  readonly title: string;
  /** The text to find. */
  readonly text: string;
  readonly isFocused: boolean;
  readonly onZoom: (path: readonly Call[]) => void;
}

function Flame({ placed, title, text, isFocused, onZoom }: FlameProps) {
  const { call, path, left, width } = placed;
  return (
    <button
      type="button"
      title={title}
      class={markOf(call, text)}
      tabIndex={isFocused ? 0 : -1}
      style={{
        background: `var(--heat-${colorOf(call.name, COLORS)})`,
        left: `${left * 100}%`,
        width: `${width * 100}%`,
        top: `${(path.length - 1) * ROW_HEIGHT}px`,
      }}
      onClick={() => onZoom(path)}
    >
      {call.name}
    </button>
  );
}

function markOf({ name }: Call, text: string): string {
  if (text === "") return "";
  return name.toLowerCase().includes(text) ? "found" : "other";
}

/** Returns the call that a key moves to; `undefined` for other keys, and where there is none. */
function goalOf(
  key: string,
  calls: readonly PlacedCall[],
  at: number,
): number | undefined {
  const depthOf = (index: number) => calls[index]?.path.length ?? 0;
  const goals: Readonly<Record<string, () => number>> = {
    ArrowRight: () => at + 1,
    ArrowLeft: () => at - 1,
    // A call precedes the calls that it makes.
    ArrowDown: () => depthOf(at + 1) > depthOf(at) ? at + 1 : -1,
    ArrowUp: () =>
      calls.findLastIndex((each, index) =>
        index < at && each.path.length < depthOf(at)
      ),
    Home: () => 0,
    End: () => calls.length - 1,
  };
  const goal = Object.hasOwn(goals, key) ? goals[key]?.() : undefined;
  return goal === undefined || calls[goal] === undefined ? undefined : goal;
}
