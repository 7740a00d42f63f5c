/** The ids of a key's nodes. */
import { describe, expect, test } from 'vitest';
import {
  areFirstNodes,
  areParticipants,
  assertParticipants,
  participantsOf,
  placeOf,
} from '../../../core/crypto/participants.ts';
import { expectRefusal } from './support.ts';

const sharing = (...participants: number[]) => ({ totalNodes: participants.length, participants });

describe('participants', () => {
  test.each([
    [[1, 2, 3], 3, undefined, true],
    [[2, 50, 100], 3, undefined, true],
    [[2, 50, 101], 3, undefined, false],
    [[1, 5], 2, 5, true],
    [[1, 6], 2, 5, false],
    [[1, 2, 2], 3, undefined, false],
    [[2, 1], 2, undefined, false],
    [[0, 1], 2, undefined, false],
    [[1, 1.5], 2, undefined, false],
    [[1, 2], 3, undefined, false],
    [[1, 2, 3], 2, undefined, false],
  ] as const)('%j of %i nodes, up to %s: %s', (ids, totalNodes, idMax, valid) => {
    expect(areParticipants(ids, totalNodes, idMax)).toBe(valid);
    if (idMax !== undefined) return;
    if (valid) assertParticipants({ totalNodes, participants: ids });
    else expectRefusal('INVALID_NODE_ID', () => assertParticipants({ totalNodes, participants: ids }));
  });

  test('are the first nodes where none are named', () => {
    expect(participantsOf({ totalNodes: 3 })).toEqual([1, 2, 3]);
    expect(areFirstNodes({ totalNodes: 3 })).toBe(true);
    expect(areFirstNodes(sharing(1, 2, 3))).toBe(true);
    expect(areFirstNodes(sharing(1, 3))).toBe(false);
    expect(areFirstNodes(sharing(2, 3))).toBe(false);
  });

  test('have places in the lists of a key', () => {
    expect([2, 4, 9].map((id) => placeOf(sharing(2, 4, 9), id))).toEqual([0, 1, 2]);
    expectRefusal('INVALID_NODE_ID', () => placeOf(sharing(2, 4, 9), 1));
  });
});
