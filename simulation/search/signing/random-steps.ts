/**
 * Random clients: their steps with keys and signing sessions during faults, and how patiently they finish after healing. Step and
 * session names are unique in the scenario.
 */

import type { ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { OwnKeystore } from '../../../scenarios/runner/terms.ts';
import type { Draw } from '../../cluster/draw.ts';
import type { Story, Swarm } from '../profiles.ts';
import { alterationOfCall } from './alterations.ts';

type Wish<K> = K extends { step: string } ? Omit<K, 'step'> : never;

/** A key of the scenario. */
export interface KeyPlan {
  readonly session: string;
  readonly threshold: number;
  readonly totalNodes: number;
  readonly curve: 'secp256k1' | 'ed25519';
  /** The scheme of its clients' signatures: a key has one. */
  readonly keystore: 'MOCK_THRESHOLD' | 'MPC_FROST';
  /** A key that nodes do not share; undefined: a shared one. */
  readonly ownType: OwnKeystore | undefined;
  /** Client-supplied dealers; the client gives all their shares, where the nodes allow it. */
  readonly supplied: readonly number[];
  /** The wallet service makes it, and signs with it in one call. */
  readonly wallet: boolean;
  /** The wallet service closes it at some time. */
  readonly closes: boolean;
}

/** The terms of a client's signature with a key. */
type SigningTerms = Pick<Extract<ScenarioStep, { call: 'sign' }>, 'key' | 'keystore' | 'path' | 'approval' | 'message'>;

/** A signing session that a client begins, and its key. */
export interface BusySession {
  readonly session: string;
  readonly key: KeyPlan;
}

/** An intent that several clients use. */
export interface SharedIntent {
  readonly intent: string;
  readonly terms: SigningTerms;
}

/** `types`: a separate stream for the types of keys, so that shared keys are the same without it. */
export function drawKeys(swarm: Swarm, draw: Draw, types: Draw): KeyPlan[] {
  const liars = swarm.liars.length;
  return Array.from({ length: draw.pick([1, 1, 1, 2]) }, (_, index) => {
    const totalNodes = draw.int(Math.max(2 + liars, 2), swarm.nodes);
    const ids = Array.from({ length: totalNodes }, (__, at) => at + 1);
    return {
      session: `key-${index + 1}`,
      threshold: draw.int(2, totalNodes - liars),
      totalNodes,
      curve: draw.pick(['secp256k1', 'secp256k1', 'ed25519'] as const),
      keystore: draw.chance(0.4) ? 'MPC_FROST' : 'MOCK_THRESHOLD',
      supplied: swarm.stories.includes('client_supplied') && draw.chance(0.3) ? draw.some(ids, draw.int(1, 2)) : [],
      ownType: undefined,
      wallet: false,
      closes: false,
    } as const;
  })
    .map((key) => (types.chance(swarm.ownKeys) ? ownKey(key, swarm, types) : key))
    .map((key) => (swarm.stories.includes('wallet') && types.chance(0.6) ? walletKey(key, types) : key));
}

/** The same key, of a type that nodes do not share. A token's or a vendor's key has one node, which must be an honest one. */
function ownKey(key: KeyPlan, { liars, losesState }: Swarm, draw: Draw): KeyPlan {
  const isHeld = liars.length === 0 && !losesState && draw.chance(0.75);
  const ownType = draw.chance(0.5) ? 'HSM_PKCS11' : 'MPC_VENDOR';
  if (isHeld) return { ...key, ownType, threshold: 1, totalNodes: 1, supplied: [] };
  return { ...key, ownType: 'MULTISIG_EVM_WALLET', curve: 'secp256k1', supplied: [] };
}

/** The same key, of a wallet. A client supplies none of its dealers. */
function walletKey(key: KeyPlan, draw: Draw): KeyPlan {
  if (key.ownType !== undefined) return key;
  const session = `${draw.chance(0.2) ? 'vky' : 'wal'}_${key.session}`;
  return { ...key, session, supplied: [], wallet: true, closes: draw.chance(0.5) };
}

export function keyTerms({ session, threshold, totalNodes, curve, ownType }: KeyPlan) {
  const shared = { session, threshold, total_nodes: totalNodes, curve };
  return ownType === undefined ? shared : { ...shared, keystore_type: ownType };
}

export class ClientPlan {
  readonly name: string;
  readonly #swarm: Swarm;
  readonly #draw: Draw;
  /** How long signing sessions live, where that is short. */
  readonly #lifetimeMs: number | undefined;
  readonly #steps: ScenarioStep[] = [];
  readonly #sessions: { readonly session: string; readonly patient: boolean; readonly key: KeyPlan | undefined }[] = [];
  /** The key of the current story. */
  #key: KeyPlan | undefined;

  constructor(name: string, swarm: Swarm, draw: Draw, lifetimeMs: number | undefined) {
    this.#lifetimeMs = lifetimeMs;
    this.name = name;
    this.#swarm = swarm;
    this.#draw = draw;
  }

  get steps(): readonly ScenarioStep[] {
    return this.#steps;
  }

  /** The sessions that it began. */
  get sessions(): BusySession[] {
    return this.#sessions.flatMap(({ session, key }) => (key === undefined ? [] : [{ session, key }]));
  }

  makeKey(key: KeyPlan): void {
    const draw = this.#draw;
    const { session, totalNodes, supplied } = key;
    const terms = keyTerms(key);
    if (key.wallet) {
      this.#add({ call: 'make_key', ...terms, wallet_service: true, insist: this.#insists() });
      return;
    }
    if (supplied.length === 0 && draw.chance(0.7)) {
      this.#add({ call: 'make_key', ...terms, insist: this.#insists() });
      return;
    }
    this.#add({ call: 'initiate_dkg', ...terms, insist: true });
    this.#mayWait();
    for (const sender of supplied) {
      for (let recipient = 1; recipient <= totalNodes; recipient += 1) {
        if (draw.chance(0.2))
          this.#add({ call: 'exchange_dkg_shares', session, sender, recipient, client_supplied: 'wrong' });
        this.#add({ call: 'exchange_dkg_shares', session, sender, recipient, client_supplied: 'right', insist: true });
      }
    }
    for (let left = draw.int(0, 2); left > 0 && supplied.length === 0; left -= 1) {
      const [sender, recipient] = [draw.int(0, totalNodes), draw.int(0, totalNodes)];
      this.#add({ call: 'exchange_dkg_shares', session, sender, recipient });
    }
    this.#add({ call: 'exchange_dkg_shares', session, insist: this.#insists() });
    // Shares that arrive when the key may be complete.
    for (const sender of supplied.slice(0, 1)) {
      const late = { call: 'exchange_dkg_shares', session, sender, recipient: draw.int(1, totalNodes) } as const;
      if (draw.chance(0.6)) this.#add({ ...late, client_supplied: 'right' });
      if (draw.chance(0.6)) this.#add({ ...late, client_supplied: 'wrong' });
      const real = draw.int(1, totalNodes);
      if (draw.chance(0.3)) this.#add({ ...late, sender: real, client_supplied: 'wrong' });
    }
    if (draw.chance(0.3)) this.#add({ call: 'exchange_dkg_shares', session });
    if (draw.chance(0.3))
      this.#add({ call: 'resume_session', session, token: draw.pick(['first', 'latest', 'wrong']) });
  }

  /** `intents`: of the whole scenario, so that clients meet at one. */
  tell(drawn: Story, key: KeyPlan, intents: SharedIntent[]): void {
    const draw = this.#draw;
    // A client knows no node's own key.
    const isOut = key.ownType !== undefined && (drawn === 'client_supplied' || drawn === 'changed');
    const story = isOut ? 'steps' : key.wallet && draw.chance(0.5) ? 'wallet' : drawn;
    this.#key = key;
    const terms: SigningTerms = this.#terms(key);
    const session = this.#session(story !== 'changed' && (story === 'client_supplied' || draw.chance(0.8)));
    const submit = (more: Partial<Wish<Extract<ScenarioStep, { call: 'submit_signature_share' }>>> = {}) =>
      this.#add({ call: 'submit_signature_share', session, ...more });
    const resume = (token: 'latest' | 'first' | 'wrong', witness: boolean) =>
      this.#add({ call: 'resume_session', session, token, witness });
    const node = () => draw.int(1, key.totalNodes);
    switch (story) {
      case 'sign':
        this.#add({ call: 'sign', session, ...terms, insist: draw.chance(0.6) });
        break;
      case 'steps':
        this.#add({ call: 'initiate_signing', session, ...terms });
        this.#mayWait();
        for (let left = draw.int(1, key.threshold + 1); left > 0; left -= 1) submit({ node: node() });
        submit();
        break;
      case 'approval':
        this.#add({
          call: 'initiate_signing',
          session,
          ...terms,
          approval: 'HUMAN_REQUIRED',
          witness: draw.chance(0.2),
        });
        if (draw.chance(0.5)) resume('latest', false);
        if (draw.chance(0.4)) submit();
        if (draw.chance(0.4)) resume('wrong', true);
        this.#mayWait();
        if (draw.chance(0.9)) resume('latest', true);
        if (draw.chance(0.5)) resume('first', true);
        submit();
        break;
      case 'sameIntent': {
        // An intent is for one message under one key: every call for it has the same content.
        if (intents.length === 0 || draw.chance(0.3)) intents.push({ intent: `intent-${intents.length + 1}`, terms });
        const { intent, terms: shared } = draw.pick(intents);
        const directive = draw.chance(0.3) ? { directive: 'FORCE_BACKEND_FAILED' as const } : {};
        const approval = draw.chance(0.2) ? { approval: 'HUMAN_REQUIRED' as const, witness: draw.chance(0.5) } : {};
        this.#add({
          call: 'initiate_signing',
          session,
          ...shared,
          intent,
          message: 'the same',
          ...directive,
          ...approval,
        });
        if (draw.chance(0.3)) resume('latest', false);
        submit();
        const second = this.#session(draw.chance(0.5));
        this.#add({ call: 'sign', session: second, ...shared, intent, message: 'the same' });
        // The first may have ended the session, which the second learns only now.
        if (draw.chance(0.4)) resume('latest', true);
        if (draw.chance(0.5)) submit();
        break;
      }
      case 'forced': {
        const directive = draw.pick([
          'FORCE_DENIED',
          'FORCE_REVOKED',
          'FORCE_EXPIRED',
          'FORCE_BACKEND_FAILED',
          'FORCE_BACKEND_FAILED',
        ] as const);
        this.#add({ call: 'initiate_signing', session, ...terms, directive });
        submit();
        resume('latest', false);
        if (draw.chance(0.5)) resume('first', false);
        submit();
        break;
      }
      case 'client_supplied':
        this.#add({ call: 'initiate_signing', session, ...terms, insist: true });
        for (let left = draw.int(1, 3); left > 0; left -= 1) {
          const one = node();
          const clientSupplied = draw.pick(['right', 'right', 'wrong'] as const);
          submit({ node: one, client_supplied: clientSupplied });
          if (draw.chance(0.3)) submit({ node: one, client_supplied: 'right' });
        }
        if (draw.chance(0.3)) submit({ node: node() });
        submit();
        break;
      case 'failedAndResumed':
        this.#add({ call: 'initiate_signing', session, ...terms, directive: 'FORCE_BACKEND_FAILED' });
        resume('latest', false);
        submit();
        // Resumes after any other cause of failure.
        resume('latest', false);
        resume('first', false);
        submit();
        resume('latest', false);
        break;
      case 'crowd': {
        // Many calls for one session, more than its limit, while it loses its memory between them.
        this.#add({ call: 'initiate_signing', session, ...terms });
        for (let left = draw.int(2, 5); left > 0; left -= 1) {
          submit({ node: node() });
          this.#mayWait();
          if (draw.chance(0.3)) resume('wrong', false);
        }
        submit();
        break;
      }
      case 'wallet': {
        if (!key.wallet) {
          this.#add({ call: 'sign', session, ...terms, insist: draw.chance(0.6) });
          break;
        }
        const approval = draw.chance(0.2) ? { approval: 'HUMAN_REQUIRED' as const } : {};
        const byWallet = { wallet_service: true, ...approval } as const;
        this.#add({ call: 'sign', session, ...terms, ...byWallet, insist: draw.chance(0.6) });
        if (draw.chance(0.4)) submit();
        const other = this.#session(false);
        this.#add({ call: 'initiate_signing', session: other, ...terms });
        if (draw.chance(0.5)) this.#add({ call: 'submit_signature_share', session: other, node: node() });
        if (draw.chance(0.3)) this.#add({ call: 'close_key', session: key.session, clients_only: true });
        if (key.closes && draw.chance(0.5)) this.#add({ call: 'close_key', session: key.session });
        this.#add({ call: 'submit_signature_share', session: other });
        if (draw.chance(0.4)) {
          // Another message under the intent that the wallet service has signed for.
          const intent = `${this.name}-own-${this.#steps.length}`;
          this.#add({
            call: 'sign',
            session: this.#session(false),
            ...terms,
            wallet_service: true,
            intent,
            message: 'one',
          });
          const message = draw.pick(['one', 'another']);
          this.#add({ call: 'sign', session: this.#session(false), ...terms, wallet_service: true, intent, message });
        }
        if (key.closes && draw.chance(0.3)) this.#add({ call: 'close_key', session: key.session });
        break;
      }
      case 'changed': {
        // Another message for an intent that nodes have signed: they refuse it.
        const intent = `${this.name}-changed-${this.#steps.length}`;
        this.#add({ call: 'initiate_signing', session, ...terms, intent, message: 'one' });
        for (let left = draw.int(1, key.threshold); left > 0; left -= 1) submit({ node: node() });
        if (this.#swarm.clocksJump) this.#add({ advance_ms: 1_000_000 });
        else this.#add({ wait: { ms: 1_600 } });
        const other = this.#session(false);
        this.#add({ call: 'initiate_signing', session: other, ...terms, intent, message: 'another' });
        this.#add({ call: 'submit_signature_share', session: other, node: node() });
        this.#add({ call: 'submit_signature_share', session: other });
        this.#add({ call: 'resume_session', session: other, token: 'latest' });
        break;
      }
      case 'altered': {
        // Calls with one field out of its range, about an existing session, and about none.
        const terms = this.#terms(key);
        this.#add({ call: 'initiate_signing', session, ...terms });
        if (draw.chance(0.3))
          this.#add({ call: 'initiate_signing', session: this.#session(false), ...terms, approval: 'HUMAN_REQUIRED' });
        for (let left = draw.int(2, 6); left > 0; left -= 1) this.#altered(key, session, terms);
        submit();
        break;
      }
      case 'inspected':
        this.#add({ call: 'initiate_signing', session, ...terms });
        for (let left = draw.int(2, 5); left > 0; left -= 1) {
          if (draw.chance(0.4)) this.#add({ call: 'inspect_session', session: draw.pick([session, key.session]) });
          else
            this.#add({
              call: 'preview_partial',
              session,
              node: draw.pick([node(), node(), node(), 0, key.totalNodes + 1]),
            });
          if (draw.chance(0.3)) submit({ node: node() });
          this.#mayWait();
        }
        submit();
        if (draw.chance(0.5)) this.#add({ call: 'inspect_session', session });
        if (draw.chance(0.5)) this.#add({ call: 'preview_partial', session, node: node() });
        break;
      case 'wrongCalls':
        if (draw.chance(0.4)) {
          this.#add({ call: 'initiate_signing', session, ...terms, contract_version: draw.pick(['9.0', 'x', '1.0']) });
        } else if (draw.chance(0.5)) {
          this.#add({
            call: 'initiate_signing',
            session,
            ...terms,
            path: draw.pick(["m/0/1'", 'm/x', 'm/4294967296']),
          });
        } else this.#add({ call: 'initiate_signing', session, ...terms });
        submit({ node: draw.pick([99, key.totalNodes + 1, 1]) });
        resume('wrong', false);
        if (key.ownType === undefined && draw.chance(0.5)) {
          // A valid share would make this dealer client-supplied, if the key is not made yet, and the client would owe the
          // others.
          this.#add({
            call: 'exchange_dkg_shares',
            session: key.session,
            sender: 1,
            recipient: 1,
            client_supplied: 'wrong',
          });
        }
        break;
      case 'repeats':
        this.#add({ call: 'initiate_signing', session, ...terms });
        for (let left = draw.int(2, 4); left > 0; left -= 1) submit(draw.chance(0.4) ? { node: node() } : {});
        resume('latest', true);
        submit();
        break;
    }
    this.#mayWait();
  }

  /** One call with one field altered. */
  #altered(key: KeyPlan, session: string, terms: SigningTerms): void {
    const draw = this.#draw;
    const { session: key_session, totalNodes } = key;
    const kind = draw.pick([
      'initiate_signing',
      'initiate_signing',
      'initiate_signing',
      'submit_signature_share',
      'submit_signature_share',
      'resume_session',
      'initiate_dkg',
      'initiate_dkg',
      'exchange_dkg_shares',
      'exchange_dkg_shares',
      'inspect_session',
      'preview_partial',
    ] as const);
    const alter = alterationOfCall(kind, draw)!;
    const node = draw.int(1, totalNodes);
    switch (kind) {
      case 'initiate_signing': {
        const asked = draw.pick([
          undefined,
          undefined,
          'archived',
          'intents_only',
          'human_required',
          'custodian',
        ] as const);
        // Of the wallet only, or of the field only: either must be enough.
        const about = asked === undefined ? { alter } : { wallet_terms: asked };
        const more = { ...(draw.chance(0.2) && { path: "m/44'/0" }), ...(draw.chance(0.2) && { witness: true }) };
        this.#add({ call: kind, session: this.#session(false), ...terms, ...more, ...about });
        return;
      }
      case 'submit_signature_share':
        this.#add({
          call: kind,
          session,
          ...(draw.chance(0.7) && {
            node,
            ...(key.ownType === undefined && draw.chance(0.5) && { client_supplied: 'right' as const }),
          }),
          alter,
        });
        return;
      case 'resume_session':
        this.#add({ call: kind, session, token: draw.pick(['latest', 'wrong']), witness: draw.chance(0.5), alter });
        return;
      case 'initiate_dkg':
        // An accepted call begins a session that no other step uses.
        this.#add({
          call: kind,
          ...keyTerms(key),
          session: alter.change === 'huge' ? key_session : `${this.name}-key-${this.#steps.length}`,
          alter,
        });
        return;
      case 'exchange_dkg_shares': {
        // A valid share would make its dealer client-supplied, if the key is not made yet: only shares with an invalid form.
        const isForm = key.ownType === undefined && !/^(session_id|context)/.test(alter.field);
        const isRefused = isForm && alter.field !== 'commitments.0' && alter.field !== 'sender_node_id';
        const given = isRefused
          ? { sender: node, recipient: draw.int(1, totalNodes), client_supplied: 'wrong' as const }
          : {};
        this.#add({ call: kind, session: key_session, ...given, alter });
        return;
      }
      case 'inspect_session':
        this.#add({ call: kind, session, alter });
        return;
      case 'preview_partial':
        this.#add({ call: kind, session, node, alter });
    }
  }

  wait(ms: number): void {
    this.#add({ wait: { ms } });
  }

  /** After healing: the client completes its own sessions. */
  finish(healedMs: number): void {
    this.#add({ wait: { ms: healedMs } });
    for (const { session, patient } of this.#sessions) {
      if (!patient) continue;
      this.#add({ call: 'resume_session', session, token: 'latest', witness: true, insist: true });
      this.#add({ call: 'submit_signature_share', session, insist: true });
    }
  }

  /** The client insists on most keys, unless a node may lose the shares that it dealt. */
  #insists(): boolean {
    return this.#draw.chance(0.7) && !this.#swarm.losesState;
  }

  #add(wish: Wish<ScenarioStep>): void {
    this.#steps.push({ step: `${this.name}-${this.#steps.length + 1}`, ...wish } as ScenarioStep);
  }

  #session(patient: boolean): string {
    const session = `${this.name}-sig-${this.#sessions.length + 1}`;
    this.#sessions.push({ session, patient, key: this.#key });
    return session;
  }

  #terms({ session, keystore, ownType }: KeyPlan): SigningTerms {
    const draw = this.#draw;
    // Such a key has no derivation, and its record names its type.
    if (ownType !== undefined) return { key: session };
    // The first call that leaves it unspecified would bind the key to mock ECDSA.
    const named = keystore === 'MPC_FROST' || draw.chance(0.3);
    return {
      key: session,
      ...(named && { keystore }),
      ...(draw.chance(0.3) && { path: draw.pick(['m', 'm/0', 'm/7/2', "m/44'/0'/0'/1"]) }),
      ...(draw.chance(0.1) && { approval: 'DIRECT_ALLOWED' as const }),
      // Longer than a digest, or than the limit of a message in memory.
      ...(draw.chance(0.08) && { message: `${this.name} ${'long '.repeat(draw.pick([10, 300]))}` }),
    };
  }

  #mayWait(): void {
    const draw = this.#draw;
    const { phaseMs, clocksJump } = this.#swarm;
    if (clocksJump && draw.chance(0.05)) {
      this.#add({ advance_ms: draw.pick([60_000, 700_000, 1_000_000]) });
      return;
    }
    // Calls at the very end of a lifetime; each way takes a millisecond or two.
    if (this.#lifetimeMs !== undefined && draw.chance(0.3)) {
      this.#add({ wait: { ms: this.#lifetimeMs - draw.int(0, 8) } });
      return;
    }
    if (draw.chance(0.6)) this.#add({ wait: { ms: draw.pick([1, 5, 30, Math.floor(phaseMs / 4)]) } });
  }
}
