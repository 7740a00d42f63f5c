/** Votes on a proposal count only as a gateway took them, on this proposal. */
import { expect, test } from 'vitest';
import { type ChangeDeps, voteOnProposal } from '../../../../wallets/companions/changes/decide.ts';
import { type ProposalRecord, proposalType, votedOn } from '../../../../wallets/companions/changes/record.ts';
import { withChangeControl } from '../../../../wallets/companions/changes/routes.ts';
import { type Vote, VoteSeal } from '../../../../wallets/custody/intents/public.ts';
import { riskRoutes } from '../../../../wallets/policy/risk/public.ts';
import { update } from '../../../../wallets/store/changes.ts';
import { startMemoryStore } from '../../../support/memory-store.ts';
import { answered, call, contextAt } from '../support/handlers.ts';

const tenant = 'tn_votes';
const votes = new VoteSeal(new Uint8Array(32));
const seal = { seal: (plain: string) => plain, open: (sealed: string) => sealed };
const routes = withChangeControl(riskRoutes(), { votes, seal });
const deps: ChangeDeps = { routes: new Map(riskRoutes().map((route) => [route.operationId, route])), votes, seal };

const ballot = { by: 'tok_forged', decision: 'approve', comment: null, reason: null, atMs: 1 } as const;

const forged: Readonly<Record<string, (record: ProposalRecord) => Vote>> = {
  'under another key': (record) => new VoteSeal(new Uint8Array(32).fill(1)).seal(tenant, votedOn(record), ballot),
  'of another tenant': (record) => votes.seal('tn_other', votedOn(record), ballot),
  'on another proposal': (record) => votes.seal(tenant, votedOn({ ...record, id: 'chg_other' }), ballot),
  'on another request': (record) => votes.seal(tenant, votedOn({ ...record, request: '{}' }), ballot),
  'under another quorum': (record) => votes.seal(tenant, votedOn({ ...record, quorum: 1 }), ballot),
  'of another initiator': (record) => votes.seal(tenant, votedOn({ ...record, initiator: 'tok_2' }), ballot),
  'by another actor': (record) => ({ ...votes.seal(tenant, votedOn(record), { ...ballot, by: 'tok_2' }), by: 'tok_9' }),
  'that rejected': (record) => ({
    ...votes.seal(tenant, votedOn(record), { ...ballot, decision: 'reject' }),
    decision: 'approve',
  }),
};

test.each([...Object.entries(forged), ['as it was taken', undefined] as const])('a vote %s', async (_name, forge) => {
  const store = await startMemoryStore().open();
  const by = (actorId: string) => contextAt(1_000, store, { tenant, actorId });
  await call(routes, 'putChangeControl', by('tok_1'), { body: { quorum: 2 } });
  const body = { operation: 'putRiskRule', body: { name: 'large', when: 'true', points: 1 } };
  const { id } = await call(routes, 'createChangeProposal', by('tok_1'), { body });
  const record = (await store.read(tenant, proposalType, id))!;
  const vote = forge?.(record) ?? votes.seal(tenant, votedOn(record), ballot);
  const after = { ...record, version: record.version + 1, approvals: [vote] };
  await store.commit(tenant, { puts: [update(proposalType, record, after)] });
  const { status } = await answered(by('tok_3'), voteOnProposal(deps, by('tok_3'), id, {}));
  expect(status).toBe(forge === undefined ? 'applied' : 'pending');
});
