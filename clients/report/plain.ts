/**
 * Makes texts safe for their place. Names and texts of a scenario are untrusted: none may move a terminal's cursor, break a line,
 * turn the reading direction or end an XML element.
 */
import type { RunEvent } from '../../scenarios/faults/recording.ts';

/** Control characters, line and paragraph separators, and characters that turn the reading direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g;
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** `text` on one line, with control characters for terminals or readers escaped as `\u001b` and the like. */
export function plain(text: string): string {
  return text.replace(unprintable, escaped).replace(loneSurrogate, escaped);
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

type Fields = Extract<RunEvent, { kind: 'actor' }>['fields'];

/** Fields in one order, independent of the order of assignment. */
export function sortedFields(fields: Fields): readonly (readonly [string, Fields[string]])[] {
  return Object.keys(fields)
    .sort()
    .map((name) => [name, fields[name]!] as const);
}

/** `nodes=1,2 reason=LATE`, on one line. */
export function fieldsInWords(fields: Fields): string {
  return sortedFields(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
