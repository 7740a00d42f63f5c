/** RunEvents as JSON, in the format of the sandbox API and its clients: names and terms in snake_case. */
import type { RunEvent } from './recording.ts';

type InSnakeCase<E extends RunEvent> = E extends { readonly arrivesMs: infer A }
  ? Omit<E, 'atMs' | 'arrivesMs'> & { readonly at_ms: number; readonly arrives_ms: A }
  : E extends { readonly kind: 'process' }
    ? Omit<E, 'atMs' | 'what'> & { readonly at_ms: number; readonly what: ProcessWord }
    : Omit<E, 'atMs'> & { readonly at_ms: number };

type ProcessWord = 'up' | 'down' | 'paused' | 'resumed' | 'link_up' | 'link_down' | 'clock';

/** A RunEvent with `at_ms` and `arrives_ms`; a process's `linkUp` is `link_up`. */
export type RunEventJson = RunEvent extends infer E ? (E extends RunEvent ? InSnakeCase<E> : never) : never;

export function runEventJson(event: RunEvent): RunEventJson {
  const { atMs, ...rest } = event;
  if (rest.kind === 'frame') {
    const { arrivesMs, ...frame } = rest;
    return { ...frame, at_ms: atMs, arrives_ms: arrivesMs };
  }
  if (rest.kind !== 'process') return { ...rest, at_ms: atMs };
  const what = rest.what === 'linkUp' ? 'link_up' : rest.what === 'linkDown' ? 'link_down' : rest.what;
  return { ...rest, what, at_ms: atMs };
}

/** The inverse of `runEventJson`. */
export function runEventOf(json: RunEventJson): RunEvent {
  const { at_ms: atMs, ...rest } = json;
  if (rest.kind === 'frame') {
    const { arrives_ms: arrivesMs, ...frame } = rest;
    return { ...frame, atMs, arrivesMs };
  }
  if (rest.kind !== 'process') return { ...rest, atMs };
  const what = rest.what === 'link_up' ? 'linkUp' : rest.what === 'link_down' ? 'linkDown' : rest.what;
  return { ...rest, what, atMs };
}
