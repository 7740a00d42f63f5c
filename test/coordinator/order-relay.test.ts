/** Orders on their way through the coordinator: it can use none for anything else, and says truly why nodes do not sign. */
import { describe, expect, test } from 'vitest';
import type { CallOrders } from '../../proto/call-orders.ts';
import { ApprovalMode, KeystoreType, MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type FrameFate, SimCluster, type SimOptions } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, digest, makeKey, tenant, tokenOf, witness } from './support/world.ts';

type Frame = Parameters<NonNullable<SimOptions['onFrame']>>[0];
type Body = Frame['message']['body'];
type Case<C extends Body['case']> = Extract<Body, { case: C }>['value'];

/** A cluster whose frames of one kind are as `change` makes them. */
function changed<C extends Body['case']>(seed: string, which: C, change: (value: Case<C>, frame: Frame) => object) {
  const cluster = new SimCluster({
    seed,
    onFrame: (frame): FrameFate => {
      const { body } = frame.message;
      if (body.case !== which) return true;
      const value = { ...body.value, ...change(body.value as Case<C>, frame) };
      return { ...frame, message: { ...frame.message, body: { case: which, value } as Body } };
    },
  });
  makeKey(cluster, 'k', 'secp256k1', 3, 5);
  makeKey(cluster, 'k2', 'secp256k1', 3, 5);
  return cluster;
}

function refusals(cluster: SimCluster): string[] {
  return cluster.events
    .filter(({ event }) => event.type === 'signing.node_refused')
    .map(({ event }) => `${event.fields.code}`);
}

function signed(cluster: SimCluster): number {
  return cluster.events.filter(({ event }) => event.type === 'signer.partial.signed').length;
}

const frost = { keystoreType: KeystoreType.MPC_FROST };
const gather = (cluster: SimCluster, signingSessionId: string) =>
  cluster.submitSignatureShare({ signingSessionId }).result();

describe('a coordinator that asks for something else than was ordered', () => {
  const asks: readonly (readonly [string, (value: Case<'partialRequest'>) => object])[] = [
    ['message', () => ({ message: new Uint8Array(32).fill(0xee) })],
    ['key', () => ({ keySession: 'k2' })],
    ['path', () => ({ derivationPath: 'm/1' })],
    ['scheme', () => ({ scheme: 1, nonceNumber: 0n, signers: [] })],
    ['intent', ({ order }) => ({ order: { ...order, transactionIntentId: 'another' } })],
    ['order', () => ({ order: undefined })],
  ];
  test.each(asks)('gets nothing signed: another %s', (_, change) => {
    const cluster = changed('asks', 'partialRequest', change);
    const { signingSessionId } = begin(cluster, 't', frost);
    const answer = gather(cluster, signingSessionId);
    expect([codeOf(answer), answer.receipt!.state]).toEqual(['ORDER_REFUSED', ReceiptState.BACKEND_FAILED]);
    expect(answer.receipt!.message).toMatch(
      /^nodes \d, \d, \d refused the order of this session \(ORDER_(INVALID|MISSING)\)/,
    );
    expect(signed(cluster)).toBe(0);
    expect(blamed(cluster)).toEqual([]);
  });

  test('gets nothing signed by the order of another session', () => {
    const orders: unknown[] = [];
    const cluster = changed('swaps', 'partialRequest', ({ order }) => {
      orders.push(order);
      return { order: orders[0] };
    });
    expect(gather(cluster, begin(cluster, 'first', frost).signingSessionId).isComplete).toBe(false);
    const before = signed(cluster);
    expect(codeOf(gather(cluster, begin(cluster, 'second', frost).signingSessionId))).toBe('ORDER_REFUSED');
    expect(signed(cluster)).toBe(before);
  });
});

describe('a session that no gateway ordered', () => {
  function unordered(seed: string) {
    const cluster = new SimCluster({ seed });
    makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const asked = { walletId: 'k', messageHash: digest, transactionIntentId: 't' };
    const begun = cluster.initiateSigning(asked, tenant, { orders: () => ({}) }).result();
    expect(codeOf(begun)).toBe('SESSION_ACCEPTED');
    return { cluster, signingSessionId: begun.signingSessionId };
  }

  test('is signed by no node, and its intent by a session that was ordered', () => {
    const { cluster, signingSessionId } = unordered('unordered');
    const answer = gather(cluster, signingSessionId);
    expect(codeOf(answer)).toBe('ORDER_REFUSED');
    expect(answer.receipt!.message).toContain('(ORDER_MISSING)');
    expect(refusals(cluster)).toEqual(['ORDER_MISSING', 'ORDER_MISSING', 'ORDER_MISSING']);
    expect(gather(cluster, begin(cluster, 't').signingSessionId).isComplete).toBe(true);
  });

  test('tells a single step which node refused', () => {
    const { cluster, signingSessionId } = unordered('unordered step');
    const answer = cluster.submitSignatureShare({ signingSessionId, nodeId: 4 }).result();
    expect(codeOf(answer)).toBe('ORDER_REFUSED');
    expect(answer.receipt!.message).toBe('node 4 refused the order of this session (ORDER_MISSING)');
    expect(answer.checkpoint!.state).toBe(ReceiptState.ACCEPTED);
  });
});

test('a lie of one node about the order ends no session', () => {
  const cluster = changed('liar', 'partialReply', (_, { from }) =>
    from === 'node/2' ? { outcome: { case: 'refusal', value: { code: 5, message: 'no' } } } : {},
  );
  for (let times = 0; times < 5; times += 1) {
    expect(gather(cluster, begin(cluster, `t${times}`, frost).signingSessionId).isComplete).toBe(true);
  }
});

test('a node whose clock is past an order’s time refuses, is replaced, and is blamed for nothing', () => {
  const cluster = new SimCluster({ seed: 'late' });
  makeKey(cluster, 'k', 'secp256k1', 2, 5);
  cluster.arm({ fault: 'clock_jump', target: 'node/3', by_ms: 32 * 24 * 3_600_000 });
  const { signingSessionId } = begin(cluster, 't');
  const step = cluster.submitSignatureShare({ signingSessionId, nodeId: 3 }).result();
  expect(step.receipt!.message).toContain('node 3 refused the order of this session (ORDER_EXPIRED)');
  expect(gather(cluster, signingSessionId).isComplete).toBe(true);
  expect(blamed(cluster)).toEqual([]);
});

describe('a session that needs a witness', () => {
  const human = { approvalMode: ApprovalMode.HUMAN_REQUIRED };

  test.each([
    ['with the call that begins it', true],
    ['with the call that resumes it', false],
  ])('is signed by the order of the gateway that admitted it %s', (_, atOnce) => {
    const cluster = new SimCluster({ seed: `human ${atOnce}` });
    makeKey(cluster, 'k');
    const more = { ...human, ...(atOnce && { humanApprovalWitness: witness }) };
    const begun = cluster
      .initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId: 't', ...more })
      .result();
    const sessionId = begun.signingSessionId;
    expect(codeOf(begun)).toBe(atOnce ? 'SESSION_ACCEPTED' : 'HUMAN_APPROVAL_REQUIRED');
    if (!atOnce) {
      const resume = { sessionId, resumeToken: tokenOf(begun), humanApprovalWitness: witness };
      expect(codeOf(cluster.resumeSession(resume).result())).toBe('SESSION_RESUMED');
    }
    // The order outlives the coordinator.
    cluster.crash('coordinator');
    cluster.start('coordinator');
    expect(gather(cluster, sessionId).isComplete).toBe(true);
  });

  test('is not signed when its wallet asks for one and the coordinator says that it was there', () => {
    const cluster = new SimCluster({ seed: 'wallet terms' });
    makeKey(cluster, 'k');
    const caller = { walletTerms: { approvalMode: ApprovalMode.HUMAN_REQUIRED } };
    const asked = { walletId: 'k', messageHash: digest, transactionIntentId: 't' };
    const begun = cluster.initiateSigning(asked, tenant, caller).result();
    expect(codeOf(begun)).toBe('HUMAN_APPROVAL_REQUIRED');
    expect(cluster.storedSession(tenant, begun.signingSessionId)).toMatchObject({
      ceremony: { order: { needsWitness: true, witnessMacs: '' } },
    });
  });

  test('is refused by the nodes without that order, and signed once a resume brings it', () => {
    const cluster = new SimCluster({ seed: 'no witness order' });
    makeKey(cluster, 'k', 'secp256k1', 3, 5);
    const begun = cluster
      .initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId: 't', ...human, ...frost })
      .result();
    const sessionId = begun.signingSessionId;
    const resume = (resumeToken: string, orders?: () => object) => {
      const asked = { sessionId, resumeToken, humanApprovalWitness: witness };
      return cluster.resumeSession(asked, tenant, orders && { orders }).result();
    };
    expect(codeOf(resume(tokenOf(begun), () => ({})))).toBe('SESSION_RESUMED');
    const refused = gather(cluster, sessionId);
    expect(codeOf(refused)).toBe('ORDER_REFUSED');
    expect(refused.receipt!.message).toContain('(WITNESS_MISSING)');
    expect(signed(cluster)).toBe(0);
    expect(codeOf(resume(tokenOf(refused)))).toBe('SESSION_RESUMED');
    expect(gather(cluster, sessionId).isComplete).toBe(true);
  });
});

test('a session that a mock directive failed is ordered all the same, and signs after its resume', () => {
  const cluster = new SimCluster({ seed: 'forced' });
  makeKey(cluster, 'k');
  const failed = cluster
    .initiateSigning({
      walletId: 'k',
      messageHash: digest,
      transactionIntentId: 't',
      mockDirective: MockDirective.FORCE_BACKEND_FAILED,
    })
    .result();
  const resume = { sessionId: failed.signingSessionId, resumeToken: tokenOf(failed) };
  expect(codeOf(cluster.resumeSession(resume).result())).toBe('SESSION_RESUMED');
  expect(gather(cluster, failed.signingSessionId).isComplete).toBe(true);
});

test('a completed session keeps no order', () => {
  const cluster = new SimCluster({ seed: 'done' });
  makeKey(cluster, 'k');
  const { signingSessionId } = begin(cluster, 't');
  const orderOf = () => (cluster.storedSession(tenant, signingSessionId)!.ceremony as { order?: object }).order;
  expect(orderOf()).toBeDefined();
  expect(gather(cluster, signingSessionId).isComplete).toBe(true);
  expect(orderOf()).toBeUndefined();
});

test('a name is given to one session alone, and only a name of signing sessions', () => {
  const name = { value: 'sig_00000000-0000-7000-8000-000000000000' };
  const cluster = new SimCluster({ seed: 'names' });
  makeKey(cluster, 'k');
  const orders = (made: CallOrders) => ({ ...made, order: { ...made.order!, sessionId: name.value } });
  const initiate = (transactionIntentId: string) =>
    cluster.initiateSigning({ walletId: 'k', messageHash: digest, transactionIntentId }, tenant, { orders }).result();
  expect(initiate('first').signingSessionId).toBe(name.value);
  const again = () => initiate('second');
  expect(again).toThrow('was begun before');
  for (const value of ['k', 'sig_', 'dkg_00000000-0000-7000-8000-000000000000', `${name.value}/x`]) {
    name.value = value;
    expect(again, value).toThrow('names no signing session');
  }
});
