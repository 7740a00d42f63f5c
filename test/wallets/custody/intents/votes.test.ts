/** A vote counts for what it was given on, and as it was given. */
import { expect, test } from 'vitest';
import { type Ballot, type VotedOn, VoteSeal } from '../../../../wallets/custody/intents/votes.ts';

const seal = new VoteSeal(new Uint8Array(32).fill(1));
const on: VotedOn = { id: 'txi_1', policyReceipt: 'receipt' };
const ballot: Ballot = { by: 'tok_1', decision: 'approve', comment: null, reason: null, atMs: 1 };
const vote = seal.seal('acme', on, ballot);

test('a vote holds as it was given', () => {
  expect(seal.holds('acme', on, vote)).toBe(true);
});

test.each<[string, string, VotedOn, Ballot]>([
  ['tenant', 'other', on, ballot],
  ['intent', 'acme', { ...on, id: 'txi_2' }, ballot],
  ['receipt', 'acme', { ...on, policyReceipt: 'another' }, ballot],
  ['missing receipt', 'acme', { id: on.id, policyReceipt: null }, ballot],
  ['actor', 'acme', on, { ...ballot, by: 'tok_2' }],
  ['decision', 'acme', on, { ...ballot, decision: 'reject' }],
  ['time', 'acme', on, { ...ballot, atMs: 2 }],
])('it does not hold with another %s, nor under the key of other gateways', (_, tenant, votedOn, given) => {
  expect(seal.holds(tenant, votedOn, { ...given, mac: vote.mac })).toBe(false);
  expect(new VoteSeal(new Uint8Array(32).fill(2)).holds('acme', on, vote)).toBe(false);
});
