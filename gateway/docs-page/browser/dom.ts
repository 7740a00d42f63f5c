/** The small part of a browser's interfaces that the page uses: the compiler's own types would be globals of every file. */
export interface Element {
  textContent: string | null;
  value: string;
  hidden: boolean;
  open: boolean;
  readonly dataset: Readonly<Record<string, string | undefined>>;
  readonly parentElement: Element;
  className: string;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
  append(...children: readonly (Element | string)[]): void;
  replaceChildren(...children: readonly (Element | string)[]): void;
  querySelectorAll(selector: string): Iterable<Element>;
  requestSubmit(): void;
  focus(): void;
}

export interface PageEvent {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly target: unknown;
  preventDefault(): void;
}

export interface PageBrowser {
  readonly document: {
    readonly body: Element;
    querySelector(selector: string): Element | null;
    querySelectorAll(selector: string): Iterable<Element>;
    createElement(name: string): Element;
    addEventListener(type: string, listener: (event: PageEvent) => void): void;
  };
  readonly location: { readonly origin: string };
  readonly sessionStorage: { getItem(name: string): string | null; setItem(name: string, value: string): void };
  readonly navigator: { readonly clipboard?: { writeText(text: string): Promise<void> } };
}
