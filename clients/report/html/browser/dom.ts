/**
 * The small part of a browser's interfaces that the page uses, as types. The compiler's own types would put a browser's globals
 * into every file of the repository.
 */
export interface Ui {
  textContent: string | null;
  className: string;
  hidden: boolean;
  value: string;
  title: string;
  readonly dataset: Record<string, string>;
  readonly style: Record<string, string>;
  scrollTop: number;
  scrollLeft: number;
  readonly clientWidth: number;
  readonly clientHeight: number;
  append(...children: readonly (Ui | string)[]): void;
  replaceChildren(...children: readonly (Ui | string)[]): void;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  getAttribute(name: string): string | null;
  addEventListener(type: string, listener: (event: UiEvent) => void, options?: { readonly passive?: boolean }): void;
  getBoundingClientRect(): { readonly left: number; readonly top: number };
  focus(options?: { readonly preventScroll?: boolean }): void;
  scrollIntoView(options?: { readonly block?: string }): void;
}

export interface Canvas extends Ui {
  width: number;
  height: number;
  getContext(kind: '2d'): Pen;
}

export interface UiEvent {
  readonly key: string;
  readonly clientX: number;
  readonly clientY: number;
  readonly target: unknown;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly deltaY: number;
  preventDefault(): void;
}

export interface Pen {
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: string;
  textBaseline: string;
  lineJoin: string;
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  save(): void;
  restore(): void;
  translate(x: number, y: number): void;
  rotate(angle: number): void;
  beginPath(): void;
  closePath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
  rect(x: number, y: number, width: number, height: number): void;
  roundRect(x: number, y: number, width: number, height: number, radius: number): void;
  clip(): void;
  fill(): void;
  stroke(): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  strokeText(text: string, x: number, y: number): void;
  setLineDash(dash: readonly number[]): void;
}

export interface Browser {
  readonly document: {
    readonly documentElement: Ui;
    readonly body: Ui;
    getElementById(id: string): Ui | null;
    createElement(name: string): Ui;
    addEventListener(type: string, listener: (event: UiEvent) => void): void;
  };
  readonly devicePixelRatio: number;
  readonly navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };
  readonly ResizeObserver: new (seen: () => void) => { observe(element: Ui): void; disconnect(): void };
  requestAnimationFrame(draw: () => void): number;
  setTimeout(task: () => void, ms: number): number;
  clearTimeout(timer: number): void;
  getComputedStyle(element: Ui): { getPropertyValue(name: string): string };
  matchMedia(query: string): {
    addEventListener(type: 'change', listener: () => void): void;
    removeEventListener(type: 'change', listener: () => void): void;
  };
}
