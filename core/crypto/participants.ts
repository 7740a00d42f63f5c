/**
 * The nodes of a cluster that hold a share of a key. A node's id is its x-coordinate in every set of nodes, so any n different
 * ids can be a key's nodes. Lists with one entry for each node follow the ids, ascending.
 */
import { CryptoError } from './errors.ts';
import { NODES_MAX } from './polynomial.ts';

/** The number of nodes with a share, and their ids; without `participants` the nodes 1 to `totalNodes`. */
export interface KeyHolders {
  readonly totalNodes: number;
  /** Ascending. */
  readonly participants?: readonly number[] | undefined;
}

const ranges: (readonly number[])[] = [];

/** The ids of a key's nodes, ascending. */
export function participantsOf({ totalNodes, participants }: KeyHolders): readonly number[] {
  if (participants !== undefined) return participants;
  ranges[totalNodes] ??= Array.from({ length: totalNodes }, (_, index) => index + 1);
  return ranges[totalNodes];
}

/** Whether the ids are `totalNodes` different ones from 1 to `idMax`, ascending. */
export function areParticipants(ids: readonly number[], totalNodes: number, idMax: number = NODES_MAX): boolean {
  return (
    ids.length === totalNodes &&
    ids.every((id, index) => Number.isInteger(id) && id > (ids[index - 1] ?? 0) && id <= idMax)
  );
}

/** Throws INVALID_NODE_ID unless they can be a key's nodes. */
export function assertParticipants(sharing: KeyHolders): void {
  if (areParticipants(participantsOf(sharing), sharing.totalNodes)) return;
  throw new CryptoError('INVALID_NODE_ID', `the participants are not ${sharing.totalNodes} ascending node ids`);
}

/** The position of a node in the lists of a key; INVALID_NODE_ID for a node without a share. */
export function placeOf(sharing: KeyHolders, nodeId: number): number {
  const place = participantsOf(sharing).indexOf(nodeId);
  if (place < 0) throw new CryptoError('INVALID_NODE_ID', `node ${nodeId} holds no share of the key`);
  return place;
}

/** Whether they are the nodes 1 to `totalNodes`. */
export function areFirstNodes(sharing: KeyHolders): boolean {
  return participantsOf(sharing).every((id, index) => id === index + 1);
}
