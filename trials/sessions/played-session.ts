/** A signing session in a trial of the coordinator: a right request, and what the trial knows of the session. */
import { KeystoreType, type MockDirective } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type KeyBinding, type KeyScheme, schemeFacts } from '../../proto/key-schemes.ts';
import { must, trialTenant } from '../support/trial.ts';
import type { Asked, Call, Caller, CoordinatorInTrial, Reply } from './coordinator-in-trial.ts';

export interface SigningWish {
  readonly transactionIntentId: string;
  readonly walletId: string;
  readonly messageHash: Uint8Array;
  readonly keystoreType: KeystoreType;
  readonly approvalMode: number;
  readonly mockDirective: MockDirective | number;
  readonly derivation: { readonly curve: string; readonly derivationPath: string; readonly networkId: string };
  readonly humanApprovalWitness: Uint8Array;
  readonly policyApprovalToken: Uint8Array;
  readonly context?: object;
}

/** A right request under the trial's key, for a new intent. */
export function wish(t: CoordinatorInTrial, changes: Partial<SigningWish> = {}, scheme = t.binding): SigningWish {
  const { draw } = t.trial;
  const { keyId, curve } = t.key.record;
  const isEd = curve === 'ed25519';
  const keystoreType =
    scheme === ''
      ? draw.pick([KeystoreType.UNSPECIFIED, KeystoreType.MOCK_THRESHOLD, KeystoreType.MPC_FROST])
      : draw.pick([KeystoreType.UNSPECIFIED, schemeFacts(scheme).keystoreTypes[0]]);
  const derives = scheme === '' || schemeFacts(scheme).derives;
  const { account } = t.key.record;
  const named = account.length > 0 ? "m/44'/3" : "m/44'/7'/3";
  return {
    transactionIntentId: `intent-${t.newSession()}`,
    walletId: keyId,
    messageHash: new Uint8Array(isEd ? draw.pick([1, 20, 33, 1_030]) : 32).fill(draw.int(1, 255)),
    keystoreType,
    approvalMode: draw.pick([0, 1]),
    mockDirective: 0,
    derivation: {
      curve: draw.pick(['', curve]),
      derivationPath: derives ? draw.pick(['', 'm/1/2', named]) : '',
      networkId: '',
    },
    humanApprovalWitness: new Uint8Array(),
    policyApprovalToken: new Uint8Array(draw.pick([0, 3])),
    ...changes,
  };
}

const human = 2;

/** A shared key without a scheme gets that of its first session. */
function schemeOf(binding: KeyBinding, curve: string, keystoreType: KeystoreType): KeyScheme {
  if (binding !== '') return binding;
  if (keystoreType !== KeystoreType.MPC_FROST) return 'mock_ecdsa';
  return curve === 'ed25519' ? 'frost_ed25519' : 'frost_bip340';
}

export class PlayedSession {
  readonly t: CoordinatorInTrial;
  readonly id: string;
  readonly wish: SigningWish;
  readonly caller: Caller;
  readonly scheme: KeyScheme;

  constructor(t: CoordinatorInTrial, changes: Partial<SigningWish> = {}, caller: Caller = {}) {
    this.t = t;
    this.id = t.newSession();
    const binding = t.binding;
    this.wish = wish(t, changes, binding);
    this.scheme = schemeOf(binding, t.key.curve, this.wish.keystoreType);
    this.caller = { order: t.order(this.id, this.wish.approvalMode === human), ...caller };
  }

  get address(): string {
    return `signing/${trialTenant}/${this.id}`;
  }

  begin(): Call {
    return this.t.call('initiateSigning', this.wish, this.caller);
  }

  /** The session opens. Returns the answer. */
  opens(code = 'SESSION_ACCEPTED'): Reply['value'] {
    const answer = this.t.answered(this.begin(), code, 'at a right request');
    must(answer.signingSessionId === this.id, () => `a session of another name than its order's is opened`);
    return answer;
  }

  get isFrost(): boolean {
    return this.scheme.startsWith('frost');
  }

  get isVendor(): boolean {
    return this.scheme.startsWith('vendor');
  }

  get threshold(): number {
    return this.t.key.record.threshold;
  }

  /** All nodes. */
  gather(changes: object = {}): Call {
    return this.t.call('submitSignatureShare', { signingSessionId: this.id, ...changes });
  }

  step(nodeId: number, changes: object = {}): Call {
    return this.gather({ nodeId, ...changes });
  }

  resume(resumeToken: string, changes: object = {}, caller: Caller = {}): Call {
    return this.t.call('resumeSession', { sessionId: this.id, resumeToken, ...changes }, caller);
  }

  preview(nodeId: number): Call {
    return this.t.call('previewPartial', { sessionId: this.id, nodeId });
  }

  /** The requests to nodes in the latest attempt of this session. */
  get asked(): Asked[] {
    const own = this.t.asked.filter(({ session }) => session === this.id);
    const latest = Math.max(...own.map(({ attempt }) => attempt));
    return own.filter(({ attempt }) => attempt === latest);
  }

  askedOf(nodeId: number): Asked | undefined {
    return this.asked.find(({ node }) => node === nodeId);
  }

  /** It signs, with honest nodes. */
  signs(why: string): Reply['value'] {
    const call = this.gather();
    this.t.serve();
    const answer = this.t.answered(call, 'SIGNATURE_COMPLETED', why);
    must(answer.isComplete && answer.fullSignature.length > 0, () => `a complete session gives no signature ${why}`);
    return answer;
  }

  get state(): number | undefined {
    return this.t.record(this.id)?.state;
  }

  get excluded(): readonly number[] {
    const ceremony = this.t.record(this.id)?.ceremony;
    return ceremony?.kind === 'signing' ? ceremony.excluded : [];
  }
}

/** An open session with a call that waits for all partials, and its requests. */
export function gathering(t: CoordinatorInTrial) {
  const session = new PlayedSession(t);
  session.opens();
  const call = session.gather();
  const requests = session.asked;
  must(
    requests.length === session.threshold,
    () => `${requests.length} nodes are asked for ${session.threshold} partials`,
  );
  return { session, call, requests };
}

export function isShared({ threshold }: PlayedSession): boolean {
  return threshold > 1;
}
