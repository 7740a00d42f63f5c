/** kill -9 of the coordinator: what it told is true of the next one. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ApprovalMode, MockDirective, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { CallFailed } from '../support/client.ts';
import { type BorrowedCluster, borrowCluster, borrowWithinMs } from '../support/shared-cluster.ts';
import { isThorough } from '../support/thorough.ts';
import {
  askAgain,
  finishDkg,
  finishSigning,
  type Key,
  makeKey,
  openDkg,
  openSigning,
  type Scheme,
  verifies,
} from './support/ceremonies.ts';
import { Ledger } from './support/ledger.ts';
import { LogTail } from './support/log-tail.ts';
import { nonceUse } from './support/nonces.ts';

const digest = new Uint8Array(32).fill(0x3c);
const ledger = new Ledger();
const keys = new Map<Scheme, Key>();
let cluster: BorrowedCluster;

const client = () => ({ api: cluster.http(), ledger });

function wish(scheme: Scheme, intentId: string) {
  return { key: keys.get(scheme)!, scheme, intentId, message: digest };
}

async function killCoordinator(): Promise<void> {
  await cluster.back('coordinator', await cluster.kill('coordinator'));
  await cluster.untilHealth('ok');
}

beforeAll(async () => {
  cluster = await borrowCluster();
  keys.set('mockEcdsa', await makeKey(client(), { sessionId: 'secp', curve: 'secp256k1' }));
  keys.set('bip340', await makeKey(client(), { sessionId: 'schnorr', curve: 'secp256k1' }));
  keys.set('ed25519', await makeKey(client(), { sessionId: 'ed', curve: 'ed25519' }));
}, borrowWithinMs);
afterAll(() => cluster?.stop());
afterEach(() => expect(ledger.violations).toEqual([]));

describe.sequential('a coordinator killed', () => {
  test('leaves every told session as it was, with its token', async () => {
    const { api } = client();
    const secp = keys.get('mockEcdsa')!;
    const signed = await openSigning(client(), wish('ed25519', 'signed'));
    await finishSigning(client(), signed);
    const initiate = async (intentId: string, extra: object) => {
      const request = { transactionIntentId: intentId, walletId: secp.sessionId, messageHash: digest, ...extra };
      const begun = await api.initiateSigning(request);
      const isRight = (signature: Uint8Array) => verifies('mockEcdsa', secp.publicKey, digest, signature);
      ledger.told('signing', begun.signingSessionId, intentId, isRight);
      return ledger.first(begun.signingSessionId, begun);
    };
    const accepted = await initiate('accepted', {});
    const pending = await initiate('pending', { approvalMode: ApprovalMode.HUMAN_REQUIRED });
    const failed = await initiate('failed', { mockDirective: MockDirective.FORCE_BACKEND_FAILED });
    const denied = await initiate('denied', { mockDirective: MockDirective.FORCE_DENIED });
    await openDkg(client(), { sessionId: 'opened', curve: 'ed25519' });
    const stepped = await ledger.ask(accepted.signingSessionId, () =>
      api.submitSignatureShare({ signingSessionId: accepted.signingSessionId, nodeId: 1 }),
    );
    expect(stepped.receipt!.reasonCode).toBe('SHARE_ACCEPTED');

    await killCoordinator();

    await askAgain({ api, ledger });
    expect(ledger.stateOf(accepted.signingSessionId)).toBe(ReceiptState.BACKEND_COMPLETED);
    expect(ledger.stateOf(denied.signingSessionId)).toBe(ReceiptState.DENIED);
    expect(ledger.stateOf('opened')).toBe(ReceiptState.BACKEND_COMPLETED);
    const humanApprovalWitness = new TextEncoder().encode('a human');
    const resume = ({ signingSessionId: sessionId, checkpoint }: typeof pending) => {
      const { resumeToken } = checkpoint!;
      return ledger.ask(sessionId, () => api.resumeSession({ sessionId, resumeToken, humanApprovalWitness }));
    };
    for (const session of [pending, failed]) expect((await resume(session)).state).toBe(ReceiptState.RESUMED);

    await killCoordinator();

    for (const session of [pending, failed]) {
      expect((await resume(session)).receipt!.reasonCode).toBe('RESUME_TOKEN_REUSED');
      await finishSigning(client(), session.signingSessionId);
    }
  });

  // Simulated: scenarios/coordinator-crash-before-answer.yaml.
  test.runIf(isThorough)('answers the calls in flight with 503, and they can be repeated', async () => {
    const session = await openSigning(client(), wish('bip340', 'in-flight'));
    const release = await Promise.all([cluster.hold('node-1'), cluster.hold('node-2'), cluster.hold('node-3')]);
    await cluster.untilHealth('unavailable');
    const tail = new LogTail(cluster.logPath('coordinator'));
    const inFlight = client().api.submitSignatureShare({ signingSessionId: session });
    const outcome = inFlight.then(
      () => undefined,
      (error: unknown) => error,
    );
    await tail.next((record) => record.event === 'frame' && record.case === 'call', 'the call');
    const dead = await cluster.kill('coordinator');
    const failure = await outcome;
    expect(failure).toBeInstanceOf(CallFailed);
    expect(failure).toMatchObject({ status: 503, message: expect.stringContaining('provider_unavailable') });
    for (const letGo of release) letGo();
    await cluster.back('coordinator', dead);
    await cluster.untilHealth('ok');
    await finishSigning(client(), session);
  });

  test.each(isThorough ? ['dkgSeal', 'dkgConfirm'] : ['dkgConfirm'])(
    'at %s: the key is made all the same',
    async (frame) => {
      const dkg = { sessionId: `at-${frame}`, curve: 'secp256k1' } as const;
      await openDkg(client(), dkg);
      const tail = new LogTail(cluster.logPath('coordinator'));
      const made = finishDkg(client(), dkg);
      await tail.next(({ case: name, session }) => name === frame && session === dkg.sessionId, frame);
      const dead = await cluster.kill('coordinator');
      await made;
      await cluster.back('coordinator', dead);
      await cluster.untilHealth('ok');
    },
  );

  test('at a partial: signed once, with fresh nonces, in every scheme', async () => {
    const sessions = await Promise.all(
      (['mockEcdsa', 'bip340', 'ed25519'] as const).map((scheme) =>
        openSigning(client(), wish(scheme, `mid-${scheme}`)),
      ),
    );
    const tail = new LogTail(cluster.logPath('coordinator'));
    const signed = sessions.map((session) => finishSigning(client(), session));
    await tail.next((record) => record.case === 'partialRequest' && record.session === sessions[2], 'partialRequest');
    const dead = await cluster.kill('coordinator');
    await Promise.all(signed);
    await cluster.back('coordinator', dead);
    await cluster.untilHealth('ok');
  });
});

test('and no nonce has signed twice', () => {
  expect(nonceUse(cluster).spentTwice).toEqual([]);
});
