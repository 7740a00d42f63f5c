/** Keys of fewer nodes than the cluster has: who takes part, who is left out, and that such keys sign like any other. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { describe, expect, test } from 'vitest';
import { KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBody } from '../../proto/wire.ts';
import { type FrameFate, SimCluster } from '../../simulation/cluster/cluster.ts';
import { begin, blamed, codeOf, digest, groupKey, tenant, tokenOf } from './support/world.ts';

/** Five nodes; `say` changes what node `liar` says, while it lies. */
function world(seed: string, liar = 0, say: (body: WireBody) => WireBody | false | undefined = () => undefined) {
  const state = { honest: false };
  const cluster = new SimCluster({
    seed,
    onFrame: (frame): FrameFate => {
      if (state.honest || !frame.from.startsWith(`node/${liar}/`)) return true;
      const body = frame.message.body as WireBody;
      const said = say(body);
      if (said === undefined) return true;
      if (said === false) return false;
      const request = 'request' in body.value ? body.value.request : 0;
      const told = { ...said, value: { ...said.value, request } } as WireBody;
      return [{ envelope: { ...frame, message: { ...frame.message, body: told } }, afterMs: 1 }];
    },
  });
  const open = (curve = 'secp256k1', totalNodes = 3) =>
    cluster.initiateDkg({ sessionId: 'k', threshold: 2, totalNodes, derivation: { curve } }).result();
  const round = (more: object = {}) => cluster.exchangeDkgShares({ sessionId: 'k', ...more }).result();
  const resume = (failed: Parameters<typeof tokenOf>[0]) =>
    cluster.resumeSession({ sessionId: 'k', resumeToken: tokenOf(failed) }).result();
  const stored = () =>
    cluster.storedSession(tenant, 'k')!.ceremony as { participants?: readonly number[]; attempt: number };
  return { cluster, state, open, round, resume, stored };
}

const refusal = (code: string) =>
  ({ case: 'dkgRefused', value: { nodeId: 0, code, message: 'no', culprits: [], results: [] } }) as unknown as WireBody;

describe.each(['secp256k1', 'ed25519'])('on %s', (curve) => {
  test('a node that is unreachable when the round begins is left out, and the key signs with any two of the others', () => {
    const { cluster, open, round, stored } = world(`left out ${curve}`);
    cluster.crash('node/2');
    expect(open(curve).receipt!.message).toContain('nodes 1 to 3 take part; others may take the place');
    const made = round();
    expect(codeOf(made)).toBe('DKG_COMPLETED');
    expect(made.receipt!.message).toMatch(/^group public key [0-9a-f]{64,66}, held by nodes 1, 3, 4$/);
    expect(stored().participants).toEqual([1, 3, 4]);
    expect(cluster.storedKey(tenant, 'k')).toMatchObject({ totalNodes: 3, participants: [1, 3, 4] });
    expect(cluster.eventLog(tenant).at(-1)!.object).toMatchObject({ participants: [1, 3, 4], culprits: [] });
    expect(cluster.nodeStore(2).loadNow(`key/${tenant}/k`)).toBeUndefined();
    cluster.start('node/2');

    const publicKey = groupKey(cluster, 'k');
    const verifies = (signature: Uint8Array) =>
      curve === 'ed25519'
        ? ed25519.verify(signature, digest, publicKey)
        : secp256k1.verify(signature, digest, publicKey, { prehash: false });
    for (const [index, pair] of [
      [1, 3],
      [4, 1],
      [3, 4],
    ].entries()) {
      const { signingSessionId } = begin(cluster, `t${index}`);
      const steps = pair.map((nodeId) => cluster.submitSignatureShare({ signingSessionId, nodeId }).result());
      expect(steps[1]!.isComplete).toBe(true);
      expect(verifies(steps[1]!.fullSignature)).toBe(true);
      for (const nodeId of [2, 5]) {
        const outside = cluster.submitSignatureShare({ signingSessionId, nodeId }).result();
        expect(codeOf(outside)).toBe('NODE_NOT_PARTICIPANT');
        expect(outside.receipt!.message).toContain('none of nodes 1, 3, 4');
      }
    }
    const child = begin(cluster, 'child', { derivation: { derivationPath: 'm/0/7' } });
    expect(cluster.submitSignatureShare({ signingSessionId: child.signingSessionId }).result().isComplete).toBe(true);
  });
});

test('a FROST signature of a key that lacks node 1', () => {
  const { cluster, open, round } = world('frost');
  cluster.crash('node/1');
  open();
  expect(round().receipt!.message).toContain('held by nodes 2, 3, 4');
  const { signingSessionId } = begin(cluster, 't', { keystoreType: KeystoreType.MPC_FROST });
  expect(cluster.submitSignatureShare({ signingSessionId }).result().isComplete).toBe(true);
});

test('with all nodes ready the first ones take part, and the message names the key alone', () => {
  const { open, round, stored } = world('defaults');
  open();
  expect(round().receipt!.message).toMatch(/^group public key [0-9a-f]+$/);
  expect(stored().attempt).toBe(1);
});

test.each([
  ['opens', 'dkgOpened'],
  ['seals', 'dkgSealed'],
  ['verifies', 'dkgVerified'],
])('a linked node that never %s is left out, without blame', (_, silentAt) => {
  const { cluster, open, round } = world(`silent ${silentAt}`, 3, (body) =>
    body.case === silentAt ? false : undefined,
  );
  open();
  const made = round();
  expect(made.receipt!.message).toContain('held by nodes 1, 2, 4');
  expect(blamed(cluster)).toEqual([]);
});

test('a node that falls silent after the first verified exchange fails the round, and a resume replaces it', () => {
  const { cluster, open, round, resume } = world('late silence', 3, (body) =>
    body.case === 'dkgVerified' ? false : undefined,
  );
  open();
  expect(codeOf(round({ senderNodeId: 1, recipientNodeId: 2 }))).toBe('SHARE_VERIFIED');
  const failed = round();
  expect([codeOf(failed), failed.receipt!.resumable]).toEqual(['NODES_UNAVAILABLE', true]);
  expect(failed.receipt!.message).toContain('node 3 did not answer');
  resume(failed);
  expect(round().receipt!.message).toContain('held by nodes 1, 2, 4');
  expect(blamed(cluster)).toEqual([]);
});

test.each(['STALE_ATTEMPT', 'ALREADY_FINAL', 'REQUEST_INVALID'])(
  'a node that answers %s for ever is replaced',
  (code) => {
    const { cluster, open, round, resume } = world(`for ever ${code}`, 2, () => refusal(code));
    open();
    const failed = round();
    expect(codeOf(failed)).toBe('NODE_REFUSED');
    expect(failed.receipt!.message).toMatch(/^node 2 refused: .*; the next attempt is of nodes 1, 3, 4$/);
    resume(failed);
    expect(round().receipt!.message).toContain('held by nodes 1, 3, 4');
    expect(blamed(cluster)).toEqual([]);
  },
);

test('a dealer that cheated is named, and does not come back while others can take its place', () => {
  const { cluster, open, round, resume, stored } = world('cheat', 1, (body) =>
    body.case === 'dkgOpened'
      ? {
          case: 'dkgOpened',
          value: { ...body.value, opening: { ...body.value.opening!, signature: new Uint8Array(64) } },
        }
      : undefined,
  );
  open();
  const failed = round();
  expect(codeOf(failed)).toBe('DEALER_MISBEHAVED');
  expect(blamed(cluster)).toEqual([1]);
  expect(stored().participants).toEqual([2, 3, 4]);
  resume(failed);
  cluster.crash('node/4');
  expect(round().receipt!.message).toContain('held by nodes 2, 3, 5');
});

test('the nodes of an attempt survive a restart of the coordinator', () => {
  const { cluster, state, open, round, resume } = world('restart', 2, () => refusal('STALE_ATTEMPT'));
  open();
  const failed = round();
  resume(failed);
  cluster.crash('coordinator');
  cluster.start('coordinator');
  state.honest = true;
  expect(round().receipt!.message).toContain('held by nodes 1, 3, 4');
});

describe('no node is replaced', () => {
  test('when a call names nodes: it fails alone, and ids outside the session are refused', () => {
    const { cluster, open, round, stored } = world('named');
    cluster.crash('node/2');
    open();
    const named = round({ senderNodeId: 1, recipientNodeId: 2 });
    expect([codeOf(named), named.checkpoint!.state]).toEqual(['NODES_UNAVAILABLE', ReceiptState.ACCEPTED]);
    expect(codeOf(round({ senderNodeId: 1, recipientNodeId: 4 }))).toBe('NODE_NOT_PARTICIPANT');
    expect(stored().attempt).toBe(1);
  });

  test('once a key may be final: the others complete it, and the node that withholds its confirmation is named', () => {
    const { cluster, open, round, stored } = world('withheld', 3, (body) =>
      body.case === 'dkgConfirmed' ? false : undefined,
    );
    open();
    expect(round().receipt!.message).toMatch(/^group public key [0-9a-f]+; node 3 did not confirm it yet$/);
    expect(stored()).toMatchObject({ attempt: 1, mayBeFinal: true });
    expect(blamed(cluster)).toEqual([]);
  });

  test('when the key is of all nodes of the cluster', () => {
    const { cluster, open, round } = world('all');
    cluster.crash('node/2');
    open('secp256k1', 5);
    expect(codeOf(round())).toBe('NODES_UNAVAILABLE');
  });

  test('when no others are ready', () => {
    const { cluster, open, round, stored } = world('none ready');
    for (const id of [2, 4, 5]) cluster.crash(`node/${id}`);
    open();
    const failed = round();
    expect(codeOf(failed)).toBe('NODES_UNAVAILABLE');
    expect(failed.receipt!.message).toContain('node 2 did not answer');
    expect(stored().attempt).toBe(1);
  });
});
