/** The parts of Preact and its signals that the page uses. */
export { Fragment, render } from "preact";
export type {
  ComponentChildren,
  ComponentType,
  RefObject,
  TargetedKeyboardEvent,
} from "preact";
export {
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";
export {
  batch,
  computed,
  effect,
  signal,
  useComputed,
  useSignal,
  useSignalEffect,
} from "@preact/signals";
export type { ReadonlySignal, Signal } from "@preact/signals";
