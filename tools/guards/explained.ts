/**
 * Guards that a search does not find when they are disabled, and why.
 *
 * - equivalent: the program behaves the same without it: a type is narrowed, or what it saves is work.
 * - behind another: another guard holds whenever this one would; both would have to fail.
 * - out of reach: nothing in the simulated world makes its test hold; the reason names what shows it instead, if anything does.
 */
import type { Guard } from './plant.ts';

export interface Explanation {
  readonly kind: 'equivalent' | 'behind another' | 'out of reach';
  readonly why: string;
}

export function explanationOf({ file, text }: Pick<Guard, 'file' | 'text'>): Explanation | undefined {
  return explained[`${file}: ${text}`];
}

/** By "file: test". */
export const explained: Readonly<Record<string, Explanation>> = {};
