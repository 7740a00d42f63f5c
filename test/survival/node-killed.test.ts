/**
 * kill -9 of a node in every round of key generation and of signing. The test watches the coordinator's log of frames and
 * kills the node the moment a frame of that round goes to it or comes from it; the process is real, and so is its death.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { parseRecords } from '../support/cluster.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough, runs } from '../support/thorough.ts';
import { until } from '../support/until.ts';
import {
  finishDkg,
  finishSigning,
  type Key,
  makeKey,
  openDkg,
  openSigning,
  type Scheme,
} from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';
import { LogTail } from './support/log-tail.ts';
import { nonceUse } from './support/nonces.ts';

const digest = new Uint8Array(32).fill(0x5a);
const ledger = new Ledger();
let cluster: BorrowedCluster;

beforeAll(async () => {
  cluster = await borrowCluster();
}, borrowWithinMs);
afterAll(() => cluster?.stop());
afterEach(() => expect(ledger.violations).toEqual([]));

const client = () => ({ api: cluster.http(), ledger });

/** Kills the node when this frame passes, and resolves with the dead process's id. */
function killAt(nodeId: number, frame: string, session: string): Promise<number> {
  const tail = new LogTail(cluster.logPath('coordinator'));
  const actor = `node/${nodeId}`;
  const isOurs = (record: Record<string, unknown>) => {
    const addresses = [String(record.from), String(record.to)];
    return (
      record.event === 'frame' &&
      record.case === frame &&
      (session === '' || record.session === session) &&
      addresses.some((address) => address === actor || address.startsWith(`${actor}/`))
    );
  };
  return tail.next(isOurs, `${frame} of ${actor}`).then(() => cluster.kill(`node-${nodeId}`));
}

/** Every third frame; all in a thorough run. Simulated nodes die at each (test/simulation/cluster/crashes.test.ts). */
function isTried(_: unknown, index: number): boolean {
  return isThorough || index % 3 === 2;
}

describe.sequential('a node killed in the middle of a key generation', () => {
  const rounds = [
    'dkgOpen',
    'dkgOpened',
    'dkgSeal',
    'dkgSealed',
    'dkgVerify',
    'dkgVerified',
    'dkgConfirm',
    'dkgConfirmed',
  ];
  const tried = rounds.map((frame, index) => [frame, (index % 5) + 1] as const);

  test.each(tried.filter(isTried))(
    'at %s of node %i: the key is made all the same, once, and signs',
    async (frame, nodeId) => {
      const sessionId = `at-${frame}`;
      const curve = nodeId % 2 === 0 ? 'ed25519' : 'secp256k1';
      const wish = { sessionId, curve } as const;
      await openDkg(client(), wish);
      const killed = killAt(nodeId, frame, sessionId);
      const made = finishDkg(client(), wish);
      await cluster.back(`node-${nodeId}`, await killed);
      const key = await made;
      // The node that died has its share: it signs, after whatever it was that killed it.
      const signing = {
        key,
        scheme: curve === 'ed25519' ? 'ed25519' : 'mockEcdsa',
        intentId: frame,
        message: digest,
      } as const;
      const session = await openSigning(client(), signing);
      await cluster.untilHealth('ok');
      // If the others completed the key without its confirmation, the first step has it confirm.
      const { receipt } = await until(async () => {
        const step = await ledger.ask(session, () =>
          client().api.submitSignatureShare({ signingSessionId: session, nodeId }),
        );
        const isLate = step.receipt!.message.includes('which it does not hold');
        return !isLate && step;
      }, `node ${nodeId} has its share`);
      expect([receipt!.reasonCode, receipt!.message]).toEqual(['SHARE_ACCEPTED', expect.any(String)]);
      await finishSigning(client(), session);
    },
  );

  test.runIf(isThorough)('the deaths fell into many rounds', () => {
    const hit = lastFramesBeforeDeath();
    process.stdout.write(`last frame before each death: ${hit.join(', ')}\n`);
    expect(new Set(hit).size).toBeGreaterThanOrEqual(3);
  });

  test('between single exchanges: what was verified stays verified', async () => {
    const sessionId = 'between-exchanges';
    const wish = { sessionId, curve: 'secp256k1', threshold: 2, totalNodes: 3 } as const;
    await openDkg(client(), wish);
    const exchange = (senderNodeId: number, recipientNodeId: number) =>
      ledger.ask(sessionId, () => client().api.exchangeDkgShares({ sessionId, senderNodeId, recipientNodeId }));
    expect((await exchange(1, 2)).receipt!.reasonCode).toBe('SHARE_VERIFIED');
    const dead = await cluster.kill('node-1');
    await cluster.back('node-1', dead);
    expect((await exchange(1, 3)).receipt!.reasonCode).toBe('SHARE_VERIFIED');
    await cluster.back('node-2', await cluster.kill('node-2'));
    expect((await exchange(1, 2)).verified).toBe(true);
    const key = await finishDkg(client(), wish);
    expect(ledger.stateOf(sessionId)).toBe(ReceiptState.BACKEND_COMPLETED);
    expect(key.publicKey).toHaveLength(33);
  });
});

/**
 * How far each key generation had come when its node's link broke: the last frame between the two, by the coordinator's
 * log. The kill follows the log by a moment, so that it may hit one frame later than the one that was waited for.
 */
function lastFramesBeforeDeath(): string[] {
  const last = new Map<string, string>();
  const deaths: string[] = [];
  for (const record of parseRecords(cluster.log('coordinator'))) {
    const match = /node\/(\d+)\/dkg/.exec(`${record.from} ${record.to}`);
    if (record.event === 'frame' && match) last.set(match[1]!, String(record.case));
    if (record.event === 'node.away') deaths.push(last.get(String(record.node)) ?? 'none');
  }
  return deaths;
}

describe.sequential('a node killed in the middle of a signature', () => {
  const keys = new Map<Scheme, Key>();
  beforeAll(async () => {
    await cluster.untilHealth('ok');
    keys.set('mockEcdsa', await makeKey(client(), { sessionId: 'signing-secp', curve: 'secp256k1' }));
    keys.set('bip340', await makeKey(client(), { sessionId: 'signing-schnorr', curve: 'secp256k1' }));
    keys.set('ed25519', await makeKey(client(), { sessionId: 'signing-ed', curve: 'ed25519' }));
  });

  const moments = (['mockEcdsa', 'bip340', 'ed25519'] as const).flatMap((scheme, row) =>
    ['partialRequest', 'partialReply'].map(
      (frame, column) => [scheme, frame, ((row * 2 + column + 3) % 5) + 1] as const,
    ),
  );
  test.each(moments.filter(isTried))(
    '%s, at %s of node %i: another one signs in its place',
    async (scheme, frame, nodeId) => {
      await cluster.untilHealth('ok');
      const wish = { key: keys.get(scheme)!, scheme, intentId: `${scheme}-${frame}`, message: digest };
      const session = await openSigning(client(), wish);
      const killed = killAt(nodeId, frame, session);
      // The step makes the node one of the signers, in addition to those drawn.
      const step = client()
        .api.submitSignatureShare({ signingSessionId: session, nodeId })
        .catch(() => undefined);
      const dead = await killed;
      await finishSigning(client(), session);
      await step;
      await cluster.back(`node-${nodeId}`, dead);
    },
  );

  test('between steps: the partials that are in stay in, or are asked for again', async () => {
    for (const scheme of ['mockEcdsa', 'ed25519'] as const) {
      await cluster.untilHealth('ok');
      const wish = { key: keys.get(scheme)!, scheme, intentId: `${scheme}-steps`, message: digest };
      const session = await openSigning(client(), wish);
      const step = (nodeId: number) =>
        ledger.ask(session, () => client().api.submitSignatureShare({ signingSessionId: session, nodeId }));
      expect((await step(4)).receipt!.reasonCode).toBe('SHARE_ACCEPTED');
      const dead = await cluster.kill('node-4');
      const second = await step(5);
      expect(second.receipt!.reasonCode).toBe('SHARE_ACCEPTED');
      await finishSigning(client(), session);
      await cluster.back('node-4', dead);
    }
  });

  test('and no nonce has signed twice', () => {
    const { partials, spentTwice } = nonceUse(cluster);
    expect(partials).toBeGreaterThan(runs(10, 30));
    expect(spentTwice).toEqual([]);
  });
});
