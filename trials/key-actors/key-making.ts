/**
 * A key generation in a trial of the coordinator: one copy of its actor, copies of the nodes, and the trial between them. It knows
 * what each honest node said, so it can change, delay, repeat and hold back the nodes' answers.
 */
import { create } from '@bufbuild/protobuf';
import type { SessionConfig } from '../../coordinator/contract/config.ts';
import type { CallFacts, ClientRequest } from '../../coordinator/contract/messages.ts';
import { sessionKey } from '../../coordinator/contract/messages.ts';
import type { DkgRecord, SessionOf } from '../../coordinator/contract/record.ts';
import { participantsOf } from '../../core/crypto/participants.ts';
import {
  DkgShareExchangeRequestSchema,
  InitiateDkgRequestSchema,
  ResumeSessionRequestSchema,
} from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit, WireMessage } from '../../proto/wire.ts';
import { ActorCopy, framesOf, type SentMessage } from '../../simulation/cluster/actor-copy.ts';
import { completed } from '../../simulation/cluster/frame-codec.ts';
import { type NodeCopy, tokenRequestsOf, wireMessagesOf } from '../../simulation/cluster/node-copy.ts';
import { StoreAtRest } from '../../simulation/cluster/store-at-rest.ts';
import type { Said } from '../support/key-parties.ts';
import { type KeyKind, KeyTranscripts, type Opening, type Result, type Sealed } from '../support/key-transcripts.ts';
import { must, type Trial, trialTenant } from '../support/trial.ts';

export type KeySession = SessionOf<DkgRecord>;

/** Milliseconds: those of the trial's coordinator. */
export const waits = { nodesMs: 7_000, partialMs: 2_000, lifetimeMs: 600_000 } as const;
const beganMs = 1_700_000_000_000;
const gateway = 'gateway/trial';

/** Of a trial's coordinator. */
export function configOf({ identities, random }: Trial): SessionConfig {
  return {
    ...{ resumeKey: random(32), roster: identities.roster, coordinatorBoot: 'coordinator#trial', sandbox: true },
    lifetimes: { signingMs: waits.lifetimeMs, pendingMs: waits.lifetimeMs, dkgMs: waits.lifetimeMs },
    ...{ nodesWaitMs: waits.nodesMs, partialTimeoutMs: waits.partialMs },
  };
}

/** A frame to or from a node, of an attempt. */
export interface Told {
  readonly id: number;
  readonly attempt: number;
  readonly body: Said;
}

/** A coordinator's actor, and what it has sent. A fork leaves the first as it is. */
export class Side {
  readonly actor: ActorCopy;
  readonly address: string;
  /** By call: the one outcome. */
  readonly replies = new Map<bigint, Said>();
  /** Since the trial last cleared them. */
  requests: Told[] = [];
  /** Nodes that were told to discard an attempt. */
  discards: Told[] = [];

  constructor(actor: ActorCopy, address: string) {
    this.actor = actor;
    this.address = address;
  }

  fork(): Side {
    return new Side(this.actor.fork(), this.address);
  }

  /** Another process of the coordinator in the same state, over the same store. */
  twin(): Side {
    return new Side(this.actor.fork(this.actor.store), this.address);
  }

  get record(): KeySession | undefined {
    const [, tenant, session] = this.address.split('/');
    return this.actor.store.written(sessionKey(tenant!, session!)) as KeySession | undefined;
  }

  take(sent: readonly SentMessage[]): void {
    for (const { to, message } of framesOf(sent)) {
      const body = message.body as Said;
      if (body.case === 'callReply') {
        const { callId, outcome } = body.value;
        must(to === gateway && !this.replies.has(callId), () => `a call about ${this.address} is answered twice`);
        this.replies.set(callId, outcome);
        continue;
      }
      const told = { id: Number(to.split('/')[1]), attempt: message.attempt ?? 0, body };
      (body.case === 'dkgDiscard' ? this.discards : this.requests).push(told);
    }
    const { bugs } = this.actor;
    must(bugs.length === 0, () => `the coordinator’s actor of a key threw: ${bugs.join('; ')}`);
  }

  /** A frame of a node arrives. */
  hear({ id, attempt, body }: Told): void {
    const session = this.address.slice('dkg/'.length);
    const message = { tenant: trialTenant, session: session.split('/')[1]!, attempt, body: body as WireBodyInit };
    this.take(this.actor.tell(message, `node/${id}/dkg/${session}`));
  }

  pass(ms: number): void {
    this.take(this.actor.pass(ms));
  }
}

export class KeyMaking extends KeyTranscripts {
  readonly trial: Trial;
  readonly kind: KeyKind;
  readonly session: string;
  readonly threshold: number;
  readonly totalNodes: number;
  readonly side: Side;
  /** What nodes answered and the coordinator has not heard, oldest first. */
  readonly answers: Told[] = [];
  /** Of the present attempt, as honest nodes gave them. */
  readonly openings = new Map<number, Opening>();
  /** "dealer recipient" */
  readonly boxes = new Map<string, Sealed>();
  readonly results = new Map<number, Result>();
  readonly #copies = new Map<number, NodeCopy>();
  #calls = 0n;
  #holds = false;

  constructor(trial: Trial, kind: KeyKind, name: string, totalNodes: number) {
    super(trial.identities);
    this.trial = trial;
    this.kind = kind;
    this.session = name;
    const isSingle = kind.holder === 'hsm' || kind.holder === 'vendor';
    this.totalNodes = isSingle ? 1 : totalNodes;
    this.threshold = isSingle ? 1 : trial.draw.int(2, this.totalNodes);
    const address = `dkg/${trialTenant}/${name}`;
    const config = configOf(trial);
    const store = StoreAtRest.of(config.resumeKey, config.roster.clusterId);
    const actor = new ActorCopy({ address, config, store, nowMs: beganMs, random: trial.random });
    actor.ready = this.rosterIds;
    this.side = new Side(actor, address);
  }

  get isWallet(): boolean {
    return this.session.startsWith('wal_');
  }

  get isShared(): boolean {
    return this.kind.holder === '';
  }

  get rosterIds(): number[] {
    return this.trial.identities.roster.nodes.map(({ id }) => id);
  }

  get record(): KeySession {
    const { record } = this.side;
    must(record !== undefined, () => `the session ${this.session} is not in the store`);
    return record;
  }

  get ids(): readonly number[] {
    return participantsOf(this.record.ceremony);
  }

  get attempt(): number {
    return this.record.ceremony.attempt;
  }

  others(id: number): number[] {
    return this.ids.filter((other) => other !== id);
  }

  copy(id: number): NodeCopy {
    const known = this.#copies.get(id) ?? this.trial.copyOf(id);
    this.#copies.set(id, known);
    return known;
  }

  protected openingOf(dealer: number): Opening {
    return this.openings.get(dealer)!;
  }

  // --- calls -----------------------------------------------------------------------------------------------------------

  /** MakeKey, or InitiateDkg: returns the call. */
  begin(side = this.side, method: 'makeKey' | 'initiateDkg' = this.isWallet ? 'makeKey' : 'initiateDkg'): bigint {
    const { threshold, totalNodes, session, kind } = this;
    const terms = { sessionId: session, threshold, totalNodes, derivation: { curve: kind.curve } };
    return this.call(side, { method, request: create(InitiateDkgRequestSchema, terms) });
  }

  exchange(more: ExchangeInit = {}, side = this.side): bigint {
    const request = create(DkgShareExchangeRequestSchema, { sessionId: this.session, ...more });
    return this.call(side, { method: 'exchangeDkgShares', request });
  }

  /** A failed session continues: with a MakeKey, or a resume and an exchange. Returns the call that runs the round. */
  again(side = this.side): bigint {
    if (this.isWallet) return this.begin(side);
    const { record } = side;
    const resumed = this.resume(side);
    const { case: kind, value } = side.replies.get(resumed) ?? { case: 'silence', value: undefined };
    must(
      kind === 'resumeSession' && value.receipt.reasonCode === 'SESSION_RESUMED',
      () => `a resume of ${record?.reasonCode} gets ${value?.receipt?.reasonCode ?? kind}`,
    );
    return this.exchange({}, side);
  }

  /** The call that begins again in a failed session. */
  resume(side: Side, resumeToken = this.isWallet ? '' : this.tokenOf(side)): bigint {
    if (this.isWallet) return this.begin(side);
    const terms = { sessionId: this.session, resumeToken };
    return this.call(side, { method: 'resumeSession', request: create(ResumeSessionRequestSchema, terms) });
  }

  /** Calls that arrive together. */
  hold<T>(calls: () => T): T {
    this.#holds = true;
    const made = calls();
    this.#holds = false;
    this.side.take(this.side.actor.settle());
    return made;
  }

  /** The token in the last checkpoint that a call got. */
  tokenOf(side: Side): string {
    const checkpoints = [...side.replies.values()].flatMap(({ value }) => value.checkpoint ?? []);
    const token = checkpoints.map(({ resumeToken }) => resumeToken as string).findLast((text) => text !== '');
    must(token !== undefined, () => `no answer about a paused session has a resume token`);
    return token;
  }

  call(side: Side, asked: ClientRequest): bigint {
    this.#calls += 1n;
    const none = new Uint8Array(0);
    const facts: CallFacts = {
      ...{ callId: this.#calls, asked: asked.method, gateway, tenant: trialTenant, correlationId: '', traceparent: '' },
      ...{ clientName: '', clientVersion: '', receiptId: `rcp_${this.#calls}`, walletService: this.isWallet },
      requestDigest: '',
      ...{ walletTerms: undefined, order: undefined, witnessMacs: none, fault: undefined, keyScheme: this.kind.name },
    };
    const message = { kind: 'clientCall', call: { ...facts, ...asked } } as const;
    if (this.#holds) side.actor.queue(message, 'coordinator');
    else side.take(side.actor.tell(message, 'coordinator'));
    return this.#calls;
  }

  // --- nodes -----------------------------------------------------------------------------------------------------------

  /** The nodes handle what they were sent. Frames to those in `deaf` are lost. */
  deliver(deaf: readonly number[] = []): void {
    const { side } = this;
    for (const { id, attempt } of side.discards.splice(0)) {
      if (!deaf.includes(id)) this.#ask(id, attempt, { case: 'dkgDiscard', value: {} });
    }
    for (const { id, attempt, body } of side.requests.splice(0)) {
      // From then on no attempt replaces this one.
      const isRecorded = body.case !== 'dkgConfirm' || this.record.ceremony.mayBeFinal === true;
      must(isRecorded, () => 'a node is asked to make its key final, and the record does not say so');
      const answer = deaf.includes(id) ? undefined : this.#ask(id, attempt, body);
      if (answer === undefined) continue;
      this.#note(answer);
      this.answers.push({ id, attempt, body: answer });
    }
  }

  #ask(id: number, attempt: number, body: Said): Said | undefined {
    const copy = this.copy(id);
    const { address } = this.side;
    const to = `node/${id}/${address}`;
    const init: WireMessage = { tenant: trialTenant, session: this.session, attempt, body: body as WireBodyInit };
    const { message } = completed({ from: address, to, message: init, trace: noTrace });
    const sent = [...copy.tell(to, message, address)];
    for (const asked of tokenRequestsOf(sent)) sent.push(...copy.tokenAnswers(asked));
    return wireMessagesOf(sent)[0]?.body as Said | undefined;
  }

  #note({ case: kind, value }: Said): void {
    if (kind === 'dkgOpened') this.openings.set(value.opening.dealer, value.opening);
    else if (kind === 'dkgSealed')
      for (const box of value.shares) this.boxes.set(`${box.dealer} ${box.recipient}`, box);
    else if (kind === 'dkgVerified' && value.finished) this.results.set(value.finished.nodeId, value.finished);
  }
}

const noTrace = { correlationId: '', traceparent: '' } as const;

export interface ExchangeInit {
  readonly senderNodeId?: number;
  readonly recipientNodeId?: number;
  readonly encryptedShare?: Uint8Array;
  readonly commitments?: Uint8Array[];
}
