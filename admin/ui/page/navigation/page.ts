import type { ComponentType } from "../kit/framework.ts";
import type { IconName } from "../kit/icons.tsx";
import type { UiStatus } from "../../responses.ts";

/** Rooms of the navigation. */
export type Group = "Observe" | "Understand" | "Govern" | "Runtime";

/** Properties of every page. */
export interface PageProps {
  /** The part of the address after the page's name, decoded; empty if there is none. */
  readonly argument: string;
  readonly status: UiStatus;
}

/** A page of the navigation. */
export interface Page {
  /** Its name in the address, `#traffic`, and of its icon. */
  readonly id: IconName;
  readonly title: string;
  readonly group: Group;
  readonly View: ComponentType<PageProps>;
  /** Reports whether this server has the page; by default, it does. */
  readonly isAvailable?: (status: UiStatus) => boolean;
}
