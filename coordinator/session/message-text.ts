/** The wording that messages share. */
import { areFirstNodes, type KeyHolders, participantsOf } from '../../core/crypto/participants.ts';

/** Node ids in a sentence. */
export function nodeList(ids: Iterable<number>): string {
  const sorted = [...ids].sort((a, b) => a - b);
  return `${sorted.length === 1 ? 'node' : 'nodes'} ${sorted.join(', ')}`;
}

/** The description of an id without a share of a key. */
export function outsideOf(sharing: KeyHolders): string {
  if (areFirstNodes(sharing)) return `outside 1..${sharing.totalNodes}`;
  return `none of ${nodeList(participantsOf(sharing))}, which share the key`;
}

/** A caller's text inside a message: bounded, and without control characters. */
export function quote(text: string): string {
  const shown = text.length > 64 ? `${text.slice(0, 64)}…` : text;
  return JSON.stringify(shown);
}
