/** A list of any length: the document contains only the rows that are visible. */
import {
  type ComponentChildren,
  type TargetedKeyboardEvent,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "./framework.ts";

/** Rows beyond the edges, so that scrolling shows no gaps. */
const MARGIN = 4;

interface VirtualListProps<T> {
  /** Names the list for screen readers. */
  readonly label: string;
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  /** Height of every row in pixels. */
  readonly rowHeight: number;
  readonly row: (item: T) => ComponentChildren;
  /** Key of the selected item. */
  readonly selected?: string | undefined;
  readonly onSelect: (item: T) => void;
  readonly classOf?: (item: T) => string;
  /** Text of the tooltip of a row. */
  readonly titleOf?: (item: T) => string;
  /** Called after rows have moved, with the list. */
  readonly onRows?: (list: HTMLElement) => void;
}

/**
 * A list box that stays fluid with many thousand items. Arrow keys, Home, End and Page move the active row, Enter and Space
 * select it. Rows carry `data-key`.
 */
export function VirtualList<T>(props: VirtualListProps<T>) {
  const { label, items, keyOf, rowHeight, selected, onSelect } = props;
  const id = useId();
  const element = useRef<HTMLDivElement>(null);
  const { height, first, end, measure } = useView(element, props);
  const [active, setActive] = useState(0);
  const last = items.length - 1;
  const at = Math.max(0, Math.min(active, last));

  const activate = (index: number) => {
    setActive(index);
    reveal(element.current, index, rowHeight);
  };
  // Before the next key is pressed, which moves on from here.
  useLayoutEffect(() => {
    const index = items.findIndex((item) => keyOf(item) === selected);
    if (index >= 0) activate(index);
  }, [selected, items]);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = stepOf(event.key, Math.floor(height / rowHeight));
    const item = items[at];
    if (step !== undefined) activate(Math.max(0, Math.min(last, at + step)));
    else if (["Enter", " "].includes(event.key) && item !== undefined) {
      onSelect(item);
    } else return;
    event.preventDefault();
  };
  const isDrawn = at >= first && at < end && last >= 0;
  return (
    <div
      ref={element}
      role="listbox"
      class="list"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={isDrawn ? `${id}-${at}` : undefined}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div
        role="presentation"
        class="sizer"
        style={{ height: `${items.length * rowHeight}px` }}
      >
        {items.slice(first, end).map((item, offset) => (
          <Row
            key={keyOf(item)}
            list={props}
            id={id}
            item={item}
            index={first + offset}
            isActive={first + offset === at}
            onActivate={setActive}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps<T> {
  readonly list: VirtualListProps<T>;
  /** Begins the ids of all rows. */
  readonly id: string;
  readonly item: T;
  readonly index: number;
  readonly isActive: boolean;
  readonly onActivate: (index: number) => void;
}

function Row<T>(
  { list, id, item, index, isActive, onActivate }: RowProps<T>,
) {
  const { items, keyOf, rowHeight, row, selected, onSelect } = list;
  const key = keyOf(item);
  return (
    <div
      id={`${id}-${index}`}
      data-key={key}
      role="option"
      class={`list-row ${isActive ? "active" : ""} ${
        list.classOf?.(item) ?? ""
      }`}
      style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
      aria-selected={key === selected}
      aria-setsize={items.length}
      aria-posinset={index + 1}
      title={list.titleOf?.(item)}
      onClick={() => {
        onActivate(index);
        onSelect(item);
      }}
    >
      {row(item)}
    </div>
  );
}

/** Tracks which rows of a list are drawn: from `first` to before `end`. */
function useView<T>(
  element: { readonly current: HTMLDivElement | null },
  { rowHeight, onRows }: VirtualListProps<T>,
) {
  const [view, setView] = useState({ top: 0, height: 600 });
  const measure = () => {
    const list = element.current;
    if (list === null) return;
    // Steps of whole rows: scrolling by pixels draws nothing.
    const top = Math.floor(list.scrollTop / rowHeight) * rowHeight;
    const height = list.clientHeight;
    setView((old) =>
      old.top === top && old.height === height ? old : { top, height }
    );
    onRows?.(list);
  };
  useEffect(() => {
    const list = element.current;
    if (list === null) return;
    const observer = new ResizeObserver(measure);
    observer.observe(list);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (element.current !== null) onRows?.(element.current);
  });
  const { top, height } = view;
  return {
    height,
    first: Math.max(0, Math.floor(top / rowHeight) - MARGIN),
    end: Math.ceil((top + height) / rowHeight) + MARGIN,
    measure,
  };
}

function stepOf(key: string, rows: number): number | undefined {
  const page = Math.max(1, rows);
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -Infinity,
    End: Infinity,
  };
  return Object.hasOwn(steps, key) ? steps[key] : undefined;
}

function reveal(
  list: HTMLElement | null,
  index: number,
  rowHeight: number,
): void {
  if (list === null) return;
  const top = index * rowHeight;
  const { scrollTop, clientHeight } = list;
  if (top < scrollTop) list.scrollTop = top;
  else if (top + rowHeight > scrollTop + clientHeight) {
    list.scrollTop = top + rowHeight - clientHeight;
  }
}
