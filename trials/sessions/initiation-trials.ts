/**
 * Trials of requests for a signature: wrong in one field, refused by the store, or about an intent that is taken. Written from
 * docs/signing-api.md (Signing, Mock directives, Limits) and docs/reason-codes.md.
 */

import { keyKey } from '../../coordinator/contract/messages.ts';
import { CallErrorCode } from '../../proto/gen/signmesh/wire/v1/cluster_pb.ts';
import { KeystoreType, MockDirective } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { schemeFacts } from '../../proto/key-schemes.ts';
import { must, trialTenant } from '../support/trial.ts';
import type { Caller, CoordinatorInTrial } from './coordinator-in-trial.ts';
import { PlayedSession, type SigningWish } from './played-session.ts';

type WrongWish = readonly [what: string, changes: Partial<SigningWish>, code: string, caller?: Caller];

const { MALFORMED, UNAVAILABLE } = CallErrorCode;
/** Once the session has left memory, only the store knows the name. */
const used = [MALFORMED, UNAVAILABLE];

const long = (length: number) => 'x'.repeat(length);

const zeros = new Uint8Array(65_537);

/** Each in one field. */
function wrongWishes(t: CoordinatorInTrial): WrongWish[] {
  const { curve, account } = t.key.record;
  const scheme = t.binding;
  const isEd = curve === 'ed25519';
  const path = (derivationPath: string) => ({ derivation: { curve: '', derivationPath, networkId: '' } });
  const bytes = (length: number) => zeros.subarray(0, length);
  const context = (changes: object) => ({ context: { client: { contractVersion: '1.0' }, ...changes } });
  const found: WrongWish[] = [
    ['an unknown directive', { mockDirective: 77 }, 'INVALID_REQUEST'],
    ['an unknown mode of approval', { approvalMode: 77 }, 'INVALID_REQUEST'],
    ['an unknown keystore type', { keystoreType: 77 as KeystoreType }, 'INVALID_REQUEST'],
    ['no intent', { transactionIntentId: '' }, 'INVALID_REQUEST'],
    ['a long intent', { transactionIntentId: long(257) }, 'INVALID_REQUEST'],
    ['no wallet', { walletId: '' }, 'INVALID_REQUEST'],
    ['a long wallet', { walletId: long(257) }, 'INVALID_REQUEST'],
    ['a long network', { derivation: { curve: '', derivationPath: '', networkId: long(257) } }, 'INVALID_REQUEST'],
    ['a long policy token', { policyApprovalToken: bytes(65_537) }, 'INVALID_REQUEST'],
    ['a long witness', { humanApprovalWitness: bytes(65_537) }, 'INVALID_REQUEST'],
    ['a wallet without a key', { walletId: 'no-such-key' }, 'WALLET_KEY_NOT_FOUND'],
    [
      'the other curve',
      { derivation: { curve: isEd ? 'secp256k1' : 'ed25519', derivationPath: '', networkId: '' } },
      'UNSUPPORTED_CURVE',
    ],
    ['a path that is none', path('x/1'), 'INVALID_DERIVATION_PATH'],
    ['a path with a hardened end', path("m/1/2'"), 'INVALID_DERIVATION_PATH'],
    // Each component is valid, and there are not too many.
    ['a long path', path(`m${'/2147483647'.repeat(92)}/214748364/1`), 'INVALID_DERIVATION_PATH'],
    ['no message', { messageHash: bytes(0) }, 'INVALID_MESSAGE_HASH'],
    ['a message that is too long', { messageHash: bytes(isEd ? 65_537 : 33) }, 'INVALID_MESSAGE_HASH'],
    ['a custodian', {}, 'WALLET_KEY_AT_CUSTODIAN', { walletTerms: { custodian: 'bank' } }],
    ['an archived wallet', {}, 'WALLET_ARCHIVED', { walletTerms: { archived: true } }],
    ['a wallet of intents alone', {}, 'WALLET_INTENTS_ONLY', { walletTerms: { intentsOnly: true } }],
    ['a vault’s key', { walletId: 'vky_1' }, 'VAULT_KEY'],
    ['another contract', context({ client: { contractVersion: '2.0' } }), 'CONTRACT_VERSION_UNSUPPORTED'],
    ['a long correlation id', context({ correlationId: long(257) }), 'INVALID_REQUEST'],
    ['a long payload', context({ payload: bytes(65_537) }), 'INVALID_REQUEST'],
  ];
  if (!isEd) found.push(['a short message', { messageHash: bytes(31) }, 'INVALID_MESSAGE_HASH']);
  const derives = scheme === '' || schemeFacts(scheme).derives;
  if (!derives) found.push(['a path of a key without children', path('m/1'), 'INVALID_DERIVATION_PATH']);
  if (derives && account.length > 0) found.push(['another account', path("m/45'/1"), 'INVALID_DERIVATION_PATH']);
  const types =
    scheme === ''
      ? [KeystoreType.HSM_PKCS11, KeystoreType.MPC_VENDOR]
      : [1, 2, 3, 4, 5].filter((type) => !schemeFacts(scheme).keystoreTypes.includes(type));
  for (const keystoreType of types) found.push(['another keystore', { keystoreType }, 'KEYSTORE_MISMATCH']);
  return found;
}

/** Refused, and nothing is stored, nor asked of a node. */
export function wrongInitiation(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  for (const [what, changes, code, caller] of draw.some(wrongWishes(t), draw.int(3, 6))) {
    const session = new PlayedSession(t, changes, caller);
    t.unchanged(what, () => {
      const answer = t.answered(session.begin(), code, `for a request with ${what}`);
      must(
        answer.signingSessionId === '' && answer.checkpoint.epoch === 0n,
        () => `a refused request (${what}) opens a session`,
      );
    });
  }
}

/** The name of a session is its gateway's, and is used once. */
export function wrongName(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const session = new PlayedSession(t);
  const badName = draw.pick(['dkg_1', 'sig_', 'sig_ü', `sig_${long(200)}`, '']);
  const bad = t.unchanged('a wrong name', () =>
    t.call('initiateSigning', session.wish, { order: { ...t.order(badName) } }),
  );
  t.failed(bad, [MALFORMED], 'for the name of no signing session');
  if (draw.chance(0.5)) {
    // Both arrive before the key was read.
    t.copy.holdsReads = true;
    const first = session.begin();
    const second = session.begin();
    t.copy.holdsReads = false;
    t.took(t.copy.answerHeld());
    t.answered(first, 'SESSION_ACCEPTED', 'at a right request');
    t.failed(second, [MALFORMED], 'for a name that was used');
  } else session.opens();
  if (draw.chance(0.5)) t.restart();
  t.unchanged('a used name', () => t.failed(session.begin(), used, 'for a name that was used'));
  const other = draw.pick(['dkg_none', 'x y', 'sig_none', '']);
  const none = t.call('submitSignatureShare', { signingSessionId: other });
  t.answered(none, other === '' ? 'INVALID_REQUEST' : 'SESSION_NOT_FOUND', 'about no session');
  const badKey = t.call('initiateDkg', { sessionId: draw.pick(['x y', 'ü', long(129)]), threshold: 2, totalNodes: 2 });
  t.answered(badKey, 'INVALID_REQUEST', 'for a name of no session');
}

/** The store refuses the new session, or shows what no coordinator wrote. */
export function refusedOpening(t: CoordinatorInTrial): void {
  const { draw, copy } = { draw: t.trial.draw, copy: t.copy };
  const session = new PlayedSession(t);
  const conflict = (code: string, current?: { kind: 'tampered' }) => ({ kind: 'conflict', code, current }) as const;
  const keyName = keyKey(trialTenant, t.key.record.keyId);
  const begins = (code: string, what: string) => {
    const answer = t.unchanged(what, () => t.answered(session.begin(), code, what));
    must(answer.signingSessionId === '', () => `a session is opened ${what}`);
  };
  draw.pick([
    () => {
      copy.fates.push(conflict('QUOTA'));
      begins('TENANT_QUOTA_EXCEEDED', 'beyond the tenant’s bound');
    },
    () => {
      copy.fates.push(conflict('OPEN_QUOTA'));
      begins('TENANT_QUOTA_EXCEEDED', 'beyond the bound of open sessions');
    },
    () => {
      copy.fates.push(conflict('INTENT_TAKEN', { kind: 'tampered' }));
      begins('STORE_TAMPERED', 'when the holder of the intent is not as it was written');
    },
    () => {
      copy.shown.set(keyName, { kind: 'tampered' });
      begins('STORE_TAMPERED', 'when the key is not as it was written');
      copy.shown.delete(keyName);
    },
    () => {
      copy.fates.push({
        kind: 'conflict',
        code: 'INTENT_ELSEWHERE',
        current: { kind: 'elsewhere', sessionId: 'sig_far' },
      });
      const answer = t.unchanged('an intent elsewhere', () =>
        t.answered(session.begin(), 'DUPLICATE_INTENT', 'for an intent of another cluster'),
      );
      must(answer.signingSessionId === 'sig_far', () => 'a taken intent does not name the session that has it');
    },
    () => {
      copy.fates.push('lost');
      t.failed(session.begin(), [UNAVAILABLE], 'when its write was lost');
    },
    () => {
      copy.fates.push('unanswered');
      t.failed(session.begin(), [UNAVAILABLE], 'when its write was not answered');
      t.unchanged('a used name', () => t.failed(session.begin(), used, 'for a name that was used'));
    },
    () => {
      t.copy.holdsReads = true;
      const call = session.begin();
      t.copy.readsFail = true;
      t.took(t.copy.answerHeld());
      t.copy.readsFail = t.copy.holdsReads = false;
      t.failed(call, [UNAVAILABLE], 'when its key cannot be read');
    },
  ])();
  new PlayedSession(t).opens();
}

/** One intent has one session that may sign. */
export function takenIntent(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const walletService = draw.chance(0.7);
  const caller = { walletService };
  // A long message, where the key signs one: an ended session stores only its digest.
  const long =
    draw.chance(0.7) && t.key.curve === 'ed25519' ? { messageHash: new Uint8Array(40).fill(draw.int(1, 255)) } : {};
  const first = new PlayedSession(t, long, caller);
  first.opens();
  if (draw.chance(0.7) && !first.isVendor) first.signs('of an intent');
  const { transactionIntentId } = first.wish;
  const same = new PlayedSession(t, { ...first.wish, transactionIntentId }, caller);
  t.unchanged('a taken intent', () => {
    const answer = t.answered(same.begin(), 'DUPLICATE_INTENT', 'for an intent that has a session');
    must(answer.signingSessionId === first.id, () => 'a taken intent does not name the session that has it');
  });
  const { messageHash } = first.wish;
  const other = new PlayedSession(t, { ...first.wish, messageHash: messageHash.map((byte) => byte ^ 1) }, caller);
  const code = walletService ? 'INVALID_REQUEST' : 'DUPLICATE_INTENT';
  t.unchanged('another message of an intent', () =>
    t.answered(other.begin(), code, 'for another message of an intent that has a session'),
  );
  // The other service has intents of its own.
  new PlayedSession(t, { ...first.wish }, { walletService: !walletService }).opens();
}

const forced = [
  [MockDirective.FORCE_DENIED, 'MOCK_FORCED_DENIED'],
  [MockDirective.FORCE_REVOKED, 'MOCK_FORCED_REVOKED'],
  [MockDirective.FORCE_EXPIRED, 'MOCK_FORCED_EXPIRED'],
] as const;

/** A directive comes before the key, and gives its state in any case. */
export function directives(t: CoordinatorInTrial): void {
  const { draw } = t.trial;
  const [mockDirective, code] = draw.pick(forced);
  new PlayedSession(t, { mockDirective, walletId: draw.pick(['', 'no-such-key']) }).opens(code);
  const failure = 'MOCK_FORCED_BACKEND_FAILED';
  const mock = { mockDirective: MockDirective.FORCE_BACKEND_FAILED };
  const holder = new PlayedSession(t);
  const isTaken = draw.chance(0.5);
  const isFar = !isTaken && draw.chance(0.5);
  if (isTaken) holder.opens();
  if (isFar) {
    t.copy.fates.push({
      kind: 'conflict',
      code: 'INTENT_ELSEWHERE',
      current: { kind: 'elsewhere', sessionId: 'sig_far' },
    });
  }
  const failed = new PlayedSession(t, { ...holder.wish, ...mock });
  const { checkpoint } = failed.opens(failure);
  if (isTaken || isFar) {
    t.unchanged('the resume of a session without its intent', () =>
      t.answered(failed.resume(checkpoint.resumeToken), 'DUPLICATE_INTENT', 'when another session holds its intent'),
    );
    return;
  }
  const resumed = t.answered(failed.resume(checkpoint.resumeToken), 'SESSION_RESUMED', 'after its directive');
  must(resumed.checkpoint.resumeToken === '', () => 'an open session has a token');
  if (!failed.isVendor) failed.signs('after its directive');
  // The resume makes the checks that the directive skipped, and the token stays good.
  const bad = new PlayedSession(t, { ...mock, walletId: 'no-such-key' });
  const { checkpoint: kept } = bad.opens(failure);
  t.unchanged('a resume under no key', () => {
    t.answered(bad.resume(kept.resumeToken), 'WALLET_KEY_NOT_FOUND', 'under no key');
    t.answered(bad.resume(kept.resumeToken), 'WALLET_KEY_NOT_FOUND', 'under no key, with a token that is still good');
  });
  // A new session of the intent takes its place, and ends it; so does one that a directive fails.
  if (draw.chance(0.5)) new PlayedSession(t, { ...bad.wish }).opens(failure);
  const next = new PlayedSession(t, { ...bad.wish, mockDirective: 0, walletId: t.key.record.keyId });
  next.opens();
  t.answered(bad.resume(kept.resumeToken), 'SESSION_NOT_RESUMABLE', 'when a newer session took its intent');
}
