/**
 * Trials of the end of a wallet's key, and of the end of its clients' sessions: docs/wallet-api.md (archive), docs/wire.md (`close_key`).
 * The sessions and the nodes are the trial's own.
 */
import { type CloseCall, sessionKey } from '../../coordinator/contract/messages.ts';
import { openRecord, type SessionRecord } from '../../coordinator/contract/record.ts';
import { ApprovalMode, KeystoreType, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import type { WireBodyInit } from '../../proto/wire.ts';
import { ActorCopy, framesOf, type SentMessage } from '../../simulation/cluster/actor-copy.ts';
import { StoreAtRest } from '../../simulation/cluster/store-at-rest.ts';
import type { Said } from '../support/key-parties.ts';
import { must, type Trial, trialTenant } from '../support/trial.ts';
import { configOf } from './key-making.ts';

const nowMs = 1_700_000_000_000;
/** A search for sessions, or a request to nodes, is repeated after this time. */
const patienceMs = 1_000;

export function closingTrial(trial: Trial): void {
  const closing = new Closing(trial, trial.draw.chance(0.35));
  closing.call();
  if (closing.isDone) return;
  closing.endSessions();
  if (!closing.isDone && !closing.isRevoking) closing.deleteShares();
  closing.late();
}

class Closing {
  readonly trial: Trial;
  readonly isRevoking: boolean;
  readonly #actor: ActorCopy;
  readonly #keyId: string;
  readonly #sessions: readonly string[];
  readonly #macs: Uint8Array;
  #calls: CloseCall[] = [];
  readonly #answers = new Map<bigint, Said>();
  /** Sessions that were told to end, and nodes that were told to delete, since the trial last cleared them. */
  #revoked: { readonly session: string; readonly clientsOnly: boolean }[] = [];
  #asked: number[] = [];

  constructor(trial: Trial, isRevoking: boolean) {
    const { draw, random, name } = trial;
    this.trial = trial;
    this.isRevoking = isRevoking;
    this.#keyId = `wal_${name}`;
    const config = configOf(trial);
    const address = `${isRevoking ? 'revoking' : 'closing'}/${trialTenant}/${this.#keyId}`;
    const store = StoreAtRest.of(config.resumeKey, config.roster.clusterId);
    this.#actor = new ActorCopy({ address, config, store, nowMs, random });
    this.#macs = random(16 * trial.nodesTotal);
    this.#sessions = Array.from({ length: draw.int(0, 3) }, (_, index) => this.#open(`sig_${index}`));
  }

  get isDone(): boolean {
    return this.#answers.size > 0;
  }

  /** A session of the key that has not ended. */
  #open(sessionId: string): string {
    const fresh = {
      ...{ tenant: trialTenant, sessionId, state: ReceiptState.ACCEPTED, reasonCode: 'SESSION_ACCEPTED', message: '' },
      ...{ expiresMs: nowMs + 900_000, correlationId: '', approvalMode: ApprovalMode.DIRECT_ALLOWED },
      keystoreType: KeystoreType.MOCK_THRESHOLD,
      ceremony: {
        ...{ kind: 'signing', curve: 'secp256k1', witnessMissing: false, policyApprovalTokenSha256: '' },
        ...{ witnessSha256: '', attempt: 1, submitted: [], given: [], guarded: false, excluded: [], signature: '' },
        recoveryId: -1,
        facts: {
          ...{ intentId: sessionId, keyId: this.#keyId, curve: '', derivationPath: '', networkId: '', messageHash: '' },
          ...{ keystoreType: KeystoreType.MOCK_THRESHOLD, approvalMode: ApprovalMode.DIRECT_ALLOWED },
          ...{ intentsOnly: false, walletService: false },
        },
      },
    };
    const { random } = this.trial;
    const session = openRecord(fresh as unknown as SessionRecord, { nowMs, random });
    const event = { tenant: trialTenant, id: sessionId } as never;
    this.#actor.store.write({ kind: 'create', session, event, guardIntent: '', nowMs }, 1);
    must(this.#actor.store.written(sessionKey(trialTenant, sessionId)) !== undefined, () => 'the trial lost a session');
    return sessionId;
  }

  #take(sent: readonly SentMessage[]): void {
    for (const { to, message } of sent) {
      if ('kind' in message && message.kind === 'revoke') {
        this.#revoked.push({ session: to.split('/')[2]!, clientsOnly: message.clientsOnly });
      }
    }
    for (const { to, message } of framesOf(sent)) {
      const { case: kind, value } = message.body as Said;
      if (kind === 'deleteKey') {
        const node = Number(to.split('/')[1]);
        const own = this.#macs.subarray((node - 1) * 16, node * 16);
        must(
          value.keySession === this.#keyId && message.tenant === trialTenant && Buffer.compare(value.mac, own) === 0,
          () => `node ${node} is told to delete a key without its gateway’s order`,
        );
        this.#asked.push(node);
      } else if (kind === 'callReply') {
        must(!this.#answers.has(value.callId), () => 'the end of a key is answered twice');
        this.#answers.set(value.callId, value.outcome);
      }
    }
    const { bugs } = this.#actor;
    must(bugs.length === 0, () => `the actor that closes a key threw: ${bugs.join('; ')}`);
  }

  #ask(): void {
    const callId = BigInt(this.#calls.length + 1);
    const none = new Uint8Array(0);
    const call: CloseCall = {
      ...{ callId, asked: 'closeKey', gateway: 'gateway/trial', tenant: trialTenant, correlationId: '' },
      ...{ clientName: '', clientVersion: '', traceparent: '', receiptId: '', walletService: true, keyScheme: '' },
      requestDigest: '',
      ...{ walletTerms: undefined, order: undefined, witnessMacs: none, fault: undefined },
      ...{ keyId: this.#keyId, revokeOnly: this.isRevoking, deletionMacs: this.isRevoking ? none : this.#macs },
    };
    this.#calls.push(call);
    this.#take(this.#actor.tell({ kind: 'closeCall', call }, 'coordinator'));
  }

  call(): void {
    const { draw } = this.trial;
    const actor = this.#actor;
    const failure = draw.chance(0.25) ? draw.pick(['lost', 'unanswered', 'reads'] as const) : undefined;
    if (failure === 'reads') actor.readsFail = true;
    else if (failure !== undefined && !this.isRevoking) actor.fates.push(failure);
    const isRefused = actor.readsFail || actor.fates.length > 0;
    // What an earlier call left comes before its sessions are known.
    const isEarly = !isRefused && draw.chance(0.4);
    actor.holdsReads = isEarly;
    this.#ask();
    if (isEarly) {
      this.#stray();
      must(
        this.#asked.length === 0 && !this.isDone,
        () => 'the end of a key does not wait for the search for sessions',
      );
      actor.holdsReads = false;
      this.#take(actor.answerHeld());
    }
    if (isRefused) {
      this.#unavailable(`its store fails (${failure})`);
      return;
    }
    const { writes } = actor;
    must(
      writes.length === (this.isRevoking ? 0 : 1) && writes.every(({ kind }) => kind === 'closeKey'),
      () =>
        `${this.isRevoking ? 'clients’ sessions of a key are ended' : 'a key is closed'} with ${writes.length} writes`,
    );
  }

  #unavailable(what: string): void {
    for (const { callId } of this.#calls) {
      const answer = this.#answers.get(callId);
      must(
        answer?.case === 'error' && answer.value.code === 2,
        () => `the end of a key gets ${answer?.case} when ${what}, and must be repeated`,
      );
    }
  }

  /** Every session that is open is told to end, and nothing else happens until all have. */
  endSessions(): void {
    const { draw } = this.trial;
    const left = [...this.#sessions];
    this.#told(left);
    const waits = draw.chance(0.15) ? 6 : draw.int(0, 2);
    for (let round = 0; round < waits && left.length > 0; round += 1) {
      if (round < 4 && draw.chance(0.5)) this.#stray();
      if (draw.chance(0.4)) this.#askAgain();
      must(this.#asked.length === 0 && !this.isDone, () => 'the end of a key does not wait for its sessions');
      this.#revoked = [];
      this.#take(this.#actor.pass(patienceMs));
      if (this.isDone) {
        this.#unavailable('its sessions do not end');
        return;
      }
      this.#told(left);
    }
    must(waits < 6 || left.length === 0, () => 'the end of a key waits for ever for sessions that do not end');
    if (draw.chance(0.3) && left.length > 0) this.#askAgain();
    // Its last sessions end while it searches for them again.
    const isSearching = left.length > 0 && draw.chance(0.4);
    this.#actor.holdsReads = isSearching;
    if (isSearching) this.#take(this.#actor.pass(patienceMs));
    while (left.length > 0) {
      must(this.#asked.length === 0 && !this.isDone, () => 'the end of a key does not wait for all its sessions');
      const one = left.splice(draw.int(0, left.length - 1), 1)[0]!;
      this.#end(one);
      if (left.length > 0 && draw.chance(0.3)) this.#end(one);
    }
    if (isSearching) {
      this.#revoked = [];
      this.#actor.holdsReads = false;
      this.#take(this.#actor.answerHeld());
      must(this.#revoked.length === 0, () => 'the sessions of a key are told to end after all have ended');
    }
    if (this.isRevoking) this.#finished([]);
  }

  #told(sessions: readonly string[]): void {
    const told = this.#revoked.map(({ session }) => session).sort();
    must(told.join() === sessions.join(), () => `sessions ${told} are told to end, and ${sessions} are open`);
    must(
      this.#revoked.every(({ clientsOnly }) => clientsOnly === this.isRevoking),
      () => 'the sessions of a closed key are told to end only if a client began them, or the reverse',
    );
  }

  /** A session and a node say again what they said to an earlier call. */
  #stray(): void {
    this.#end('sig_other');
    this.#confirm(1, []);
  }

  /** Calls that come together have one search, and one answer. */
  #askAgain(): void {
    const { writes } = this.#actor;
    const [written, told] = [writes.length, this.#revoked.length];
    this.#ask();
    must(
      writes.length === written && this.#revoked.length === told,
      () => 'the end of a key begins again for a call that came meanwhile',
    );
  }

  #end(sessionId: string): void {
    this.#take(this.#actor.tell({ kind: 'ended', sessionId }, `signing/${trialTenant}/${sessionId}`));
  }

  /** Every node is asked to delete its share, three times at most; the answer names those that have not confirmed. */
  deleteShares(): void {
    const { draw, nodesTotal } = this.trial;
    const all = Array.from({ length: nodesTotal }, (_, index) => index + 1);
    const silent = draw.chance(0.4) ? draw.some(all, draw.int(1, nodesTotal)) : [];
    let owing = all;
    this.#askedOf(owing);
    const again = draw.chance(0.25) ? draw.int(0, nodesTotal - 1) : -1;
    for (const [index, node] of all.entries()) {
      if (index === again) {
        // A node may have made a share after its confirmation: all are asked again.
        this.#ask();
        owing = all;
        this.#askedOf(owing);
        for (const done of all.slice(0, index)) if (!silent.includes(done)) owing = this.#confirm(done, owing);
      }
      if (silent.includes(node)) continue;
      if (draw.chance(0.2)) this.#notConfirmed(node);
      if (draw.chance(0.2)) this.#end('sig_0');
      must(this.#asked.length === 0, () => `nodes ${this.#asked} are told again to delete a key`);
      owing = this.#confirm(node, owing);
      if (owing.length > 0 && draw.chance(0.2)) owing = this.#confirm(node, owing);
    }
    for (let round = 2; owing.length > 0 && round <= 4; round += 1) {
      must(!this.isDone, () => 'the end of a key is answered before its nodes');
      this.#take(this.#actor.pass(patienceMs));
      if (round <= 3) this.#askedOf(owing);
    }
    this.#finished(owing);
  }

  #askedOf(nodes: readonly number[]): void {
    must(
      this.#asked.join() === nodes.join(),
      () => `nodes ${this.#asked} are told to delete a key, and ${nodes} have it`,
    );
    this.#asked = [];
  }

  #hear(node: number, body: { readonly case: string; readonly value: object }): void {
    const message = { tenant: trialTenant, session: '', attempt: 0, body: body as WireBodyInit };
    this.#take(this.#actor.tell(message, `node/${node}`));
  }

  #confirm(node: number, owing: readonly number[]): number[] {
    this.#hear(node, { case: 'keyDeleted', value: { keySession: this.#keyId } });
    return owing.filter((one) => one !== node);
  }

  #notConfirmed(node: number): void {
    this.#hear(node, { case: 'dkgConfirmed', value: { nodeId: node, request: 1 } });
    this.#hear(this.trial.nodesTotal + 1, { case: 'keyDeleted', value: { keySession: this.#keyId } });
  }

  #finished(pending: readonly number[]): void {
    for (const { callId } of this.#calls) {
      const answer = this.#answers.get(callId);
      must(
        answer?.case === 'closeKey' &&
          answer.value.sessions === this.#sessions.length &&
          answer.value.pendingNodes.join() === pending.join(),
        () =>
          `the end of a key with ${this.#sessions.length} sessions, nodes ${pending} pending, is answered ${answer?.case}: ${answer?.value.sessions} sessions, nodes ${answer?.value.pendingNodes}`,
      );
    }
  }

  /** What comes after the answer does nothing. */
  late(): void {
    this.#asked = [];
    this.#revoked = [];
    this.#actor.writes.length = 0;
    const actor = this.#actor;
    for (const say of [() => this.#end('sig_0'), () => this.#confirm(1, [])]) {
      say();
      must(!actor.isInMemory, () => 'a late message keeps the end of a key in memory');
    }
    this.#take(actor.pass(patienceMs));
    must(
      this.#asked.length === 0 && this.#revoked.length === 0 && actor.writes.length === 0,
      () => 'a late message begins the end of a key again',
    );
  }
}
