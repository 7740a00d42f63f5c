/** A fault in words of a command line: `bad_partial target=node/2 at.nth=3`. The service checks the rest. */
import { type FaultKind, faultKinds } from '../../scenarios/faults/vocabulary/fault.ts';
import { exitCodes, Failure } from '../common/failure.ts';
import { nearest } from '../common/nearest-word.ts';

/** The body of POST /v1/sandbox/faults. Throws a Failure that names the word and the remedy. */
export function faultOfWords(kind: string, words: readonly string[]): object {
  if (!faultKinds.includes(kind as FaultKind)) {
    const near = nearest(kind, faultKinds);
    const hint = near === undefined ? 'signmesh faults kinds lists them' : `did you mean ${near}?`;
    throw new Failure(`There is no fault ${JSON.stringify(kind.slice(0, 64))} (${hint}).`, exitCodes.usage);
  }
  const fault: Record<string, unknown> = { fault: kind };
  for (const word of words) {
    const [, path, text] = /^([a-z_]+(?:\.[a-z_]+)*)=(.*)$/s.exec(word) ?? [];
    if (path === undefined || text === undefined) {
      throw new Failure(
        `${JSON.stringify(word.slice(0, 64))} is no field=value, such as target=node/2.`,
        exitCodes.usage,
      );
    }
    place(fault, path.split('.'), readValue(text), word);
  }
  return fault;
}

function place(into: Record<string, unknown>, [name, ...rest]: readonly string[], value: unknown, word: string): void {
  const inner = Object.hasOwn(into, name!) ? into[name!] : undefined;
  if (rest.length === 0 ? inner !== undefined : inner !== undefined && typeof inner !== 'object') {
    throw new Failure(`${JSON.stringify(word.slice(0, 64))} names a field that has a value already.`, exitCodes.usage);
  }
  if (rest.length === 0) {
    into[name!] = value;
    return;
  }
  const next = (inner ?? {}) as Record<string, unknown>;
  into[name!] = next;
  place(next, rest, value, word);
}

/** 3, true, null, ["node/1","node/2"] as JSON; everything else is text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
