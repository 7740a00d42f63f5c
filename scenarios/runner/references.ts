/**
 * References of a step to the answers of earlier steps: `$pay.id` is a field of the answer of step `pay`, and `${pay.id}` the
 * same within a text. A field is a path of names and of list indices from 0: `$pay.approvals.0.by`.
 */
import type { AnswerShape } from './custody-operation.ts';
import { isRecord, type Path } from './explain.ts';

export interface Reference {
  readonly step: string;
  readonly field: readonly string[];
  /** As written. */
  readonly text: string;
}

const place = '([A-Za-z0-9_-]{1,64})((?:[.][A-Za-z0-9_-]{1,64})*)';
const whole = new RegExp(`^[$]${place}$`);
const within = new RegExp(`[$][{]${place}[}]`, 'g');

/** The references in a text, in their order. */
export function referencesIn(text: string): Reference[] {
  const one = whole.exec(text);
  const found = one === null ? [...text.matchAll(within)] : [one];
  return found.map(([written, step, field]) => ({
    step: step!,
    field: field === '' ? [] : field!.slice(1).split('.'),
    text: written,
  }));
}

/** Every text of a value that has references, by its path. */
export function referencesOf(value: unknown, path: Path = []): { readonly path: Path; readonly found: Reference[] }[] {
  if (typeof value === 'string') {
    const found = referencesIn(value);
    return found.length === 0 ? [] : [{ path, found }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => referencesOf(item, [...path, index]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => referencesOf(member, [...path, name]));
}

/** The field of an answer; undefined: it has none. */
export function fieldOf(answer: unknown, field: readonly string[]): unknown {
  return field.reduce<unknown>((value, name) => {
    if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
    return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }, answer);
}

/** A reference without a value at the time of the call. */
export class ReferenceMissing extends Error {}

/** The value with its references replaced by answers. Throws ReferenceMissing. */
export function resolved(value: unknown, answerOf: (step: string) => unknown): unknown {
  const read = (step: string, field: string, text: string): unknown => {
    const found = fieldOf(answerOf(step), field === '' ? [] : field.slice(1).split('.'));
    if (found === undefined) throw new ReferenceMissing(`${text} is not known: step ${step} has no such answer`);
    return found;
  };
  if (typeof value === 'string') {
    const one = whole.exec(value);
    if (one !== null) return read(one[1]!, one[2]!, value);
    return value.replaceAll(within, (text, step: string, field: string) => String(read(step, field, text)));
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, answerOf));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolved(member, answerOf)]));
}

/** The first name of a path that answers of this shape lack, with the names that they have; undefined: all exist. */
export function unknownField(
  shape: AnswerShape | null,
  field: readonly string[],
): { readonly name: string; readonly known: readonly string[] } | undefined {
  let at: AnswerShape | null = shape;
  for (const name of field) {
    if (at === 0) return undefined;
    if (at === null) return { name, known: [] };
    if (Array.isArray(at)) {
      if (!/^(0|[1-9][0-9]{0,4})$/.test(name)) return { name, known: ['0, 1, …: it is a list'] };
      at = at[0] as AnswerShape;
    } else {
      const fields = at as Readonly<Record<string, AnswerShape>>;
      if (!Object.hasOwn(fields, name)) return { name, known: Object.keys(fields) };
      at = fields[name]!;
    }
  }
  return undefined;
}
