/** What the policies' decision means for a message, which takes no votes, and what rules read of it. */
import { expect, it } from 'vitest';
import type { RequestContext } from '../../../../gateway/api/route.ts';
import { decideMessage, type MessageFacts } from '../../../../wallets/companions/vaults/policy.ts';
import type { PolicyDecision } from '../../../../wallets/custody/intents/facts.ts';

const context = {
  tenant: 'tn_1',
  nowMs: 5,
  principal: { tenant: 'tn_1', environment: 'sandbox', tokenId: 'tok_1' },
} as unknown as RequestContext;
const asked = {
  id: 'vsg_0193abcd-0000-7000-8000-000000000001',
  vault: { id: 'vlt_1', name: 'cold', policy: null, approvalMode: 'human_required' },
  key: { id: 'key_1', keystoreType: 'MPC_CLUSTER', curve: 'ed25519' },
  message: new Uint8Array(3),
  messageType: 'raw',
  derivationPath: 'm',
} as unknown as MessageFacts;

const risk = { score: 5 };
const guard = { kind: 'status', id: 'rules', status: 'read' };

async function outcomeOf(decision: Partial<PolicyDecision>, over: Partial<MessageFacts['vault']> = {}) {
  const calls: unknown[][] = [];
  const evaluators = {
    assess: async () => ({ result: risk, change: { guards: [guard] } }),
    decide: async (...words: unknown[]) => {
      calls.push(words.slice(1));
      return { result: { id: 'dec_1', matchedRules: [], reason: 'a rule', ...decision }, change: {} };
    },
  };
  const receipts = { sign: (claims: object) => JSON.stringify(claims) };
  const deps = { evaluators, receipts } as unknown as Parameters<typeof decideMessage>[0];
  const made = await decideMessage(deps, context, { ...asked, vault: { ...asked.vault, ...over } });
  return { made, calls };
}

const policy = { name: 'p', id: 'pol_1', version: 1 };

it.each([
  [{ decision: 'allow' }, 'allow', null],
  [{ decision: 'deny' }, 'deny', null],
  [{ decision: 'require_approval' }, 'needsHuman', null],
  [{ decision: 'require_approval', approvals: { quorum: 1, approvers: [] } }, 'needsHuman', null],
  [{ decision: 'require_approval', approvals: { quorum: 2, approvers: [] } }, 'deny', 'APPROVALS_NOT_SUPPORTED'],
  [{ decision: 'require_approval', approvals: { quorum: 1, approvers: ['ana'] } }, 'deny', 'APPROVALS_NOT_SUPPORTED'],
] as const)('%j is %s', async (decision, outcome, reasonCode) => {
  const { made } = await outcomeOf({ policy, ...decision } as unknown as PolicyDecision);
  const reason = reasonCode === null ? 'a rule' : `${reasonCode}: a rule; a message takes no votes`;
  expect(made).toMatchObject({ outcome, reason, reasonCode });
});

it('asks the policy of the vault if it has one, about a message without money, cleared and scored by the tenant’s rules', async () => {
  const decision = { decision: 'allow', policy } as unknown as PolicyDecision;
  const [own, none] = [await outcomeOf(decision, { policy: 'strict' }), await outcomeOf(decision)];
  expect([own.calls[0]![3], none.calls[0]![3]]).toEqual([['strict'], []]);
  const [facts, screening, scored] = none.calls[0]!;
  expect(facts).toMatchObject({
    ...{ kind: 'message', units: 0n, availableUnits: 0n, wantsHuman: true, asset: '', walletName: 'cold', nowMs: 5 },
    metadata: { message_bytes: 3, message_type: 'raw', curve: 'ed25519', derivation_path: 'm' },
  });
  expect(screening).toMatchObject({ decision: 'clear', riskScore: 0, matches: [] });
  expect(scored).toBe(risk);
  expect(none.made.change).toMatchObject({ guards: [guard] });
  const relaxed = await outcomeOf(decision, { approvalMode: 'direct_allowed' });
  expect(relaxed.calls[0]![0]).toMatchObject({ wantsHuman: false });
});
