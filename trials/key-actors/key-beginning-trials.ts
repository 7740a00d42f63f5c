/**
 * Trials of how a key generation begins, and of its record: known and unknown sessions, wrong terms, a store that refuses or has no
 * space, records that were altered at rest. Written from docs/signing-api.md, docs/durability.md and docs/trust.md.
 */
import { create } from '@bufbuild/protobuf';
import { InitiateDkgRequestSchema, ReceiptState } from '../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { keyKinds } from '../support/key-transcripts.ts';
import { must, type Trial } from '../support/trial.ts';
import { KeyMaking, type Side, waits } from './key-making.ts';
import { alter, answered, unavailable, unchanged } from './key-making-rules.ts';

export function keyBeginningTrial(trial: Trial): void {
  const { draw } = trial;
  const name = `${draw.chance(0.5) ? 'wal_' : ''}${trial.name}`;
  const making = new KeyMaking(trial, draw.pick(keyKinds), name, Math.min(trial.nodesTotal, draw.int(2, 3)));
  const beginning = new Beginning(making);
  beginning.unknown();
  if (draw.chance(0.6)) beginning.wrongTerms();
  beginning.begin();
  beginning.known();
  beginning.altered();
  beginning.expires();
}

class Beginning {
  readonly making: KeyMaking;

  constructor(making: KeyMaking) {
    this.making = making;
  }

  get #draw() {
    return this.making.trial.draw;
  }

  /** No session has this name: every message about it changes nothing. */
  unknown(): void {
    const { making } = this;
    const { side } = making;
    const fork = side.fork();
    unchanged(fork, 'a message of a node to a session that is unknown', () => {
      fork.hear({ id: 1, attempt: 1, body: { case: 'dkgConfirmed', value: { nodeId: 1, request: 1 } } });
      fork.take(fork.actor.tell({ kind: 'expire' }, 'expiry'));
    });
    const call = making.exchange({}, fork);
    answered(fork, [call], 'SESSION_NOT_FOUND', 'a step of a session that is unknown');
    must(
      fork.actor.writes.length === 0 && !fork.actor.isInMemory,
      () => 'a session that is unknown begins with a step',
    );
  }

  /** A call with terms that no key has is refused, with any session. */
  wrongTerms(side: Side = this.making.side): void {
    const { making } = this;
    const { session, threshold, totalNodes, kind, trial } = making;
    const right = { sessionId: session, threshold, totalNodes, derivation: { curve: kind.curve } };
    const { curve } = kind;
    const other = curve === 'ed25519' ? 'secp256k1' : 'ed25519';
    const isFixed = kind.holder === 'hsm' || kind.holder === 'vendor';
    const wrong: (readonly [string, object])[] = [
      ['INVALID_THRESHOLD', { threshold: totalNodes + 1 }],
      ['INVALID_THRESHOLD', { totalNodes: trial.nodesTotal + 1 }],
      ['UNSUPPORTED_CURVE', { derivation: { curve: 'p256' } }],
      ['INVALID_REQUEST', { derivation: { curve, networkId: 'n'.repeat(257) } }],
      ['INVALID_DERIVATION_PATH', { derivation: { curve, derivationPath: 'm/1' } }],
      ['INVALID_DERIVATION_PATH', { derivation: { curve, derivationPath: 'x' } }],
    ];
    if (isFixed) wrong.push(['INVALID_THRESHOLD', { threshold: 2, totalNodes: 2 }]);
    else wrong.push(['INVALID_THRESHOLD', { threshold: 1 }]);
    if (kind.name !== '') wrong.push(['UNSUPPORTED_CURVE', { derivation: { curve: other } }]);
    const [reason, changes] = this.#draw.pick(wrong);
    const method = making.isWallet ? 'makeKey' : 'initiateDkg';
    const before = side.record?.epoch;
    side.actor.writes.length = 0;
    const call = making.call(side, { method, request: create(InitiateDkgRequestSchema, { ...right, ...changes }) });
    answered(side, [call], reason, `wrong terms ${JSON.stringify(changes)}`);
    must(
      side.actor.writes.length === 0 && side.record?.epoch === before,
      () => 'a call with wrong terms changes a session',
    );
  }

  begin(): void {
    const { making } = this;
    const { side, isWallet } = making;
    const { actor } = side;
    const hindrance = this.#draw.pick(['none', 'none', 'full', 'lost', 'unanswered', 'together'] as const);
    if (hindrance === 'together') {
      this.#together();
      return;
    }
    actor.isFull = hindrance === 'full';
    if (hindrance === 'lost' || hindrance === 'unanswered') actor.fates.push(hindrance);
    const call = making.begin();
    actor.isFull = false;
    if (hindrance === 'full' && !isWallet) {
      answered(side, [call], 'TENANT_QUOTA_EXCEEDED', 'its store has no space for the tenant');
      must(side.record === undefined, () => 'a session begins without space');
    } else if (hindrance === 'lost' || hindrance === 'unanswered') {
      unavailable(side, [call], `a first write that was ${hindrance}`);
      must((side.record === undefined) === (hindrance === 'lost'), () => `the first write was ${hindrance}`);
    } else {
      this.#begun(call);
      return;
    }
    if (side.record === undefined) this.#begun(making.begin());
  }

  #begun(call: bigint): void {
    const { side, isWallet, session } = this.making;
    if (!isWallet) answered(side, [call], 'SESSION_ACCEPTED', 'its beginning');
    must(
      side.record?.state === ReceiptState.ACCEPTED && side.record.sessionId === session && side.record.epoch === 1,
      () => `a new session is ${side.record?.reasonCode}`,
    );
  }

  /** Another call comes before the first write: it finds the session. */
  #together(): void {
    const { making } = this;
    const { side, isWallet } = making;
    const held = making.hold(() => [making.begin(), isWallet ? making.begin() : making.exchange()]);
    const [first, second] = held;
    this.#begun(first!);
    must(!side.replies.has(second!), () => 'a call that came with the first one does not wait for its round');
    must(side.requests.length === making.totalNodes, () => 'the call that came with the first one runs no round');
    const fork = side.fork();
    fork.pass(waits.nodesMs);
    answered(
      fork,
      isWallet ? held : [second!],
      'NODES_UNAVAILABLE',
      'no node has answered the calls that came together',
    );
  }

  /** The session exists: a second beginning changes nothing; one of the wallet service joins the round. */
  known(): void {
    const { making } = this;
    const { side, isWallet } = making;
    if (this.#draw.chance(0.4)) this.wrongTerms(side.fork());
    const fork = side.fork();
    fork.actor.restart();
    fork.actor.isFresh = this.#draw.chance(0.6);
    const isLost = this.#draw.chance(0.2) && fork.actor.isFresh;
    if (isLost) fork.actor.fates.push('lost');
    const call = making.begin(fork);
    if (isLost) unavailable(fork, [call], 'a write that was lost');
    else if (isWallet) {
      must(!fork.replies.has(call), () => 'a MakeKey of a session that exists does not wait for its round');
      must(fork.requests.length === making.totalNodes, () => 'a MakeKey of a session that exists runs no round');
    } else answered(fork, [call], 'DUPLICATE_SESSION', 'a second beginning');
    must(fork.record?.epoch === 1, () => 'a second beginning changes the session');
  }

  /** Another record than the coordinator wrote: no call uses anything of it. */
  altered(): void {
    const { making } = this;
    const fork = making.side.fork();
    fork.actor.restart();
    alter(making, fork);
    const isBeginning = this.#draw.chance(0.6);
    fork.actor.isFresh = isBeginning && this.#draw.chance(0.5);
    fork.actor.writes.length = 0;
    const call = isBeginning ? making.begin(fork) : making.exchange({}, fork);
    answered(fork, [call], 'STORE_TAMPERED', 'its record was altered');
    const { value } = fork.replies.get(call)!;
    must(
      fork.actor.writes.length === 0 && fork.requests.length === 0 && value.receipt.epoch === 0n,
      () => 'a call uses a record that was altered',
    );
  }

  expires(): void {
    const { making } = this;
    const { side } = making;
    if (this.#draw.chance(0.5)) side.actor.restart();
    side.pass(waits.lifetimeMs - 1 - (side.actor.nowMs - making.record.createdMs));
    side.actor.restart();
    unchanged(side, 'a scan before its lifetime ends', () => side.take(side.actor.tell({ kind: 'expire' }, 'expiry')));
    side.pass(1);
    side.discards = [];
    if (this.#draw.chance(0.5)) side.take(side.actor.tell({ kind: 'expire' }, 'expiry'));
    const call = making.isWallet ? making.begin() : making.exchange();
    answered(side, [call], 'SESSION_EXPIRED', 'the end of its lifetime');
    must(
      making.record.state === ReceiptState.EXPIRED && side.discards.length === making.totalNodes,
      () => 'the lifetime of a session is over, and its nodes are not told to discard it',
    );
  }
}
