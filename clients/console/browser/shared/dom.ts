/** The parts of a browser that the console uses beside those of the report. */
import type { Browser, Ui } from '../../../report/html/browser/dom.ts';

export interface Svg {
  setAttribute(name: string, value: string): void;
  append(...children: readonly Svg[]): void;
}

export interface ConsoleBrowser extends Omit<Browser, 'document' | 'matchMedia'> {
  readonly document: Browser['document'] & {
    title: string;
    createElementNS(space: string, name: string): Svg;
    querySelector(selector: string): Ui | null;
  };
  readonly fetch: typeof globalThis.fetch;
  readonly location: { hash: string; readonly origin: string; reload(): void };
  readonly history: { replaceState(data: null, unused: '', url: string): void };
  readonly sessionStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  readonly performance: { now(): number };
  readonly crypto: { getRandomValues(into: Uint8Array): Uint8Array };
  btoa(text: string): string;
  matchMedia(query: string): ReturnType<Browser['matchMedia']> & { readonly matches: boolean };
  addEventListener(type: string, listener: () => void): void;
}

/** The value of the field that an event comes from. */
export function textIn(event: { readonly target: unknown }): string {
  return (event.target as { readonly value: string }).value;
}
