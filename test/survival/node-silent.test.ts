/**
 * Nodes that are stopped (SIGSTOP: there, but silent), away, or all restarted at the same instant. In a thorough run alone:
 * sandbox-control-live.test.ts stops live nodes in `npm test`, and the scenarios paused-node, silent-node-replaced,
 * one-fewer-than-threshold and all-nodes-restart-at-once are simulated.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import {
  finishDkg,
  finishSigning,
  type Key,
  makeKey,
  openDkg,
  openSigning,
  type Scheme,
  sign,
} from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';
import { nonceUse } from './support/nonces.ts';

const digest = new Uint8Array(32).fill(0xa5);
const schemes = ['mockEcdsa', 'bip340', 'ed25519'] as const;
const ledger = new Ledger();
const keys = new Map<Scheme, Key>();
let cluster: BorrowedCluster;

const client = () => ({ api: cluster.http(), ledger });

function wish(scheme: Scheme, intentId: string) {
  return { key: keys.get(scheme)!, scheme, intentId, message: digest };
}

beforeAll(async () => {
  cluster = await borrowCluster();
  keys.set('mockEcdsa', await makeKey(client(), { sessionId: 'secp', curve: 'secp256k1' }));
  keys.set('bip340', await makeKey(client(), { sessionId: 'schnorr', curve: 'secp256k1' }));
  keys.set('ed25519', await makeKey(client(), { sessionId: 'ed', curve: 'ed25519' }));
}, borrowWithinMs);
afterAll(() => cluster?.stop());
afterEach(() => expect(ledger.violations).toEqual([]));

describe.runIf(isThorough).sequential('a node that falls silent', () => {
  const silent = 2;

  test('is replaced in every scheme, and never called a cheat', async () => {
    cluster.signal(`node-${silent}`, 'SIGSTOP');
    for (const scheme of schemes) {
      for (let count = 1; count <= 4; count += 1) await sign(client(), wish(scheme, `silent-${scheme}-${count}`));
    }
    expect(cluster.records('coordinator', 'signing.node_misbehaved')).toEqual([]);
  });

  test('fails a key generation that needs it, by name, and the session can be resumed', async () => {
    const dkg = { sessionId: 'needs-all', curve: 'ed25519' } as const;
    await openDkg(client(), dkg);
    const { sessionId } = dkg;
    const failed = await ledger.ask(sessionId, () => client().api.exchangeDkgShares({ sessionId }));
    expect(failed.receipt).toMatchObject({
      state: ReceiptState.BACKEND_FAILED,
      reasonCode: 'NODES_UNAVAILABLE',
      resumable: true,
      message: expect.stringContaining(`node ${silent}`),
    });
    cluster.signal(`node-${silent}`, 'SIGCONT');
    const { resumeToken } = failed.checkpoint!;
    const resume = () => ledger.ask(sessionId, () => client().api.resumeSession({ sessionId, resumeToken }));
    expect((await resume()).state).toBe(ReceiptState.RESUMED);
    expect((await resume()).receipt!.reasonCode).toBe('RESUME_TOKEN_REUSED');
    await finishDkg(client(), dkg);
  });

  test('takes its place again when it resumes, and its late answers do no harm', async () => {
    for (const scheme of schemes) {
      const session = await openSigning(client(), wish(scheme, `again-${scheme}`));
      const step = await ledger.ask(session, () =>
        client().api.submitSignatureShare({ signingSessionId: session, nodeId: silent }),
      );
      expect(step.receipt!.reasonCode).toBe('SHARE_ACCEPTED');
      await finishSigning(client(), session);
    }
    await cluster.untilHealth('ok');
  });
});

describe.runIf(isThorough).sequential('below the quorum', () => {
  test('a signature says so in its receipt, and continues with its token when nodes are back', async () => {
    const sessions = new Map<Scheme, string>();
    for (const scheme of schemes) sessions.set(scheme, await openSigning(client(), wish(scheme, `quorum-${scheme}`)));
    const release = await Promise.all([cluster.hold('node-1'), cluster.hold('node-3'), cluster.hold('node-4')]);
    await cluster.untilHealth('unavailable');
    const tokens = new Map<string, string>();
    await Promise.all(
      [...sessions.values()].map(async (session) => {
        const failed = await ledger.ask(session, () =>
          client().api.submitSignatureShare({ signingSessionId: session }),
        );
        expect(failed.receipt).toMatchObject({
          state: ReceiptState.BACKEND_FAILED,
          reasonCode: 'QUORUM_UNAVAILABLE',
          resumable: true,
        });
        expect(failed.receipt!.message).toContain('nodes 2, 5');
        tokens.set(session, failed.checkpoint!.resumeToken);
      }),
    );
    for (const letGo of release) letGo();
    await cluster.untilHealth('ok');
    for (const [session, resumeToken] of tokens) {
      const resumed = await ledger.ask(session, () => client().api.resumeSession({ sessionId: session, resumeToken }));
      expect(resumed.state).toBe(ReceiptState.RESUMED);
      await finishSigning(client(), session);
    }
  });
});

describe.runIf(isThorough).sequential('all nodes restarted at the same instant', () => {
  test.each([1, 2])('all become ready and sign, time %i', async (time) => {
    const dead = await Promise.all(cluster.nodeIds.map((id) => cluster.kill(`node-${id}`)));
    await Promise.all(cluster.nodeIds.map((id, index) => cluster.back(`node-${id}`, dead[index]!)));
    await cluster.untilHealth('ok');
    for (const scheme of schemes) {
      const session = await openSigning(client(), wish(scheme, `restart-${time}-${scheme}`));
      for (const nodeId of [3, 1]) {
        const step = await ledger.ask(session, () =>
          client().api.submitSignatureShare({ signingSessionId: session, nodeId }),
        );
        expect(step.receipt!.reasonCode).toBe('SHARE_ACCEPTED');
      }
      await finishSigning(client(), session);
    }
  });

  test('and no nonce has signed twice', () => {
    expect(nonceUse(cluster).spentTwice).toEqual([]);
  });
});
