/** What must hold at every moment of every run, whatever crashes, is lost, or comes twice. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { expect } from 'vitest';
import { initialStates, type SessionState, transitions } from '../../../coordinator/contract/transitions.ts';
import type { ActorEvent, Envelope } from '../../../core/actors/contract.ts';
import { ReceiptState, type SignatureShareResponse } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type ReasonCode, reasonCodes } from '../../../proto/reason-codes.ts';
import type { WireMessage } from '../../../proto/wire.ts';
import type { SimCluster } from '../../../simulation/cluster/cluster.ts';
import { eventTypes } from '../../../wallets/delivery/events/types.ts';
import { type Answered, expectComplete, tenant } from './world.ts';

/** Types, and the states that they tell of. */
const stateOf: Readonly<Record<string, SessionState>> = {
  accepted: ReceiptState.ACCEPTED,
  pending: ReceiptState.PENDING_HUMAN_APPROVAL,
  resumed: ReceiptState.RESUMED,
  completed: ReceiptState.BACKEND_COMPLETED,
  failed: ReceiptState.BACKEND_FAILED,
  denied: ReceiptState.DENIED,
  expired: ReceiptState.EXPIRED,
  revoked: ReceiptState.REVOKED,
};

interface Told {
  readonly epoch: bigint;
  readonly state: SessionState;
  readonly checkpointId: string;
}

/** Every state that can be reached from this one. */
function reachable(from: SessionState): Set<SessionState> {
  const found = new Set<SessionState>([from]);
  for (const state of found) for (const next of transitions[state]) found.add(next);
  return found;
}

export class Invariants {
  readonly #told = new Map<string, Told>();
  /** Whatever was told, since the log was looked at last. */
  readonly #toClaim: (Told & { readonly sessionId: string })[] = [];
  /** What the log has of a session, oldest first. */
  readonly #logged = new Map<string, Pick<Told, 'epoch' | 'state'>[]>();
  readonly #eventIds = new Set<string>();
  readonly #requests = new Map<string, string>();
  readonly #signed = new Set<string>();
  readonly #signatures = new Map<string, string>();

  /** Receipts are complete, agree with the registry or the session, and are never contradicted. */
  answered(answer: Answered): void {
    const { receipt, checkpoint } = answer;
    expectComplete(answer, receipt!.sessionId);
    const code = receipt!.reasonCode as ReasonCode;
    expect([reasonCodes[code].state, checkpoint!.state]).toContain(receipt!.state);
    if (receipt!.sessionId === '') return;
    const before = this.#told.get(receipt!.sessionId);
    const now: Told = {
      epoch: checkpoint!.epoch,
      state: checkpoint!.state as SessionState,
      checkpointId: checkpoint!.checkpointId,
    };
    this.#toClaim.push({ ...now, sessionId: receipt!.sessionId });
    // It speaks of another session, as the store had it when the call was refused; that one's own answers may be newer.
    if (before && code === 'DUPLICATE_INTENT' && now.epoch < before.epoch) return;
    if (before) {
      expect(now.epoch >= before.epoch).toBe(true);
      expect(now.epoch === before.epoch).toBe(now.checkpointId === before.checkpointId);
      expect([...reachable(before.state)]).toContain(now.state);
      if (transitions[before.state].length === 0) expect(now.epoch).toBe(before.epoch);
    }
    this.#told.set(receipt!.sessionId, now);
  }

  /**
   * The event log has every change of state of every session once, in order, and nothing else: it agrees with what is
   * durable, and with all that callers were told.
   */
  log(cluster: SimCluster): void {
    const log = cluster.eventLog(tenant);
    const seen = new Set<string>();
    for (const { id, type, resource, object, connectionId } of log.slice(this.#eventIds.size)) {
      expect(this.#eventIds.has(id)).toBe(false);
      this.#eventIds.add(id);
      expect(Object.keys(eventTypes)).toContain(type);
      const state = stateOf[type.split('.')[2]!]!;
      const events = this.#logged.get(resource.id) ?? [];
      const before = events.at(-1);
      expect(before ? transitions[before.state] : initialStates).toContain(state);
      expect(resource.version).toBeGreaterThan(Number(before?.epoch ?? 0));
      if (!before) expect(resource.version).toBe(1);
      expect(object).toMatchObject({
        session_id: resource.id,
        epoch: resource.version,
        state: `RECEIPT_STATE_${ReceiptState[state]}`,
      });
      expect(`${resource.type} ${connectionId}`).toBe(`${type.split('.')[0]}_session null`);
      this.#logged.set(resource.id, [...events, { epoch: BigInt(resource.version), state }]);
      seen.add(resource.id);
    }
    for (const sessionId of seen) {
      const stored = cluster.storedSession(tenant, sessionId)!;
      const last = this.#logged.get(sessionId)!.at(-1)!;
      expect(last.state).toBe(stored.state);
      expect(last.epoch <= BigInt(stored.epoch)).toBe(true);
    }
    for (const { sessionId, epoch, state } of this.#toClaim.splice(0)) {
      expect(this.#logged.get(sessionId)!.findLast((event) => event.epoch <= epoch)?.state).toBe(state);
    }
  }

  knows(sessionId: string): boolean {
    return this.#told.has(sessionId);
  }

  /** No nonce is asked for twice for different content. */
  frame({ to, message }: Envelope<WireMessage>): void {
    const { body } = message;
    if (body.case !== 'partialRequest' || !body.value.nonceNumber) return;
    const { attemptTag: _, ...content } = body.value;
    const nonce = [to, content.scheme, content.nodeBoot, content.coordinatorBoot, content.nonceNumber].join(' ');
    const text = JSON.stringify([message.session, content], (__, value) =>
      typeof value === 'bigint' ? `${value}` : value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    );
    expect(this.#requests.get(nonce) ?? text).toBe(text);
    this.#requests.set(nonce, text);
  }

  /** Of new events: no node signs twice with one nonce; no node is blamed where all are honest. */
  events(events: readonly { readonly address: string; readonly event: ActorEvent }[]): void {
    for (const { address, event } of events) {
      const culprits = (event.fields.culprits ?? []) as readonly unknown[];
      // One expectation an event, of tens of thousands, would take longer than the events.
      if (culprits.length > 0) expect(culprits).toEqual([]);
      if (event.type !== 'signer.partial.signed' || event.fields.nonce === 0) continue;
      const { boot, coordinatorBoot, scheme, nonce } = event.fields;
      const name = [address, boot, coordinatorBoot, scheme, nonce].join(' ');
      expect(this.#signed.has(name)).toBe(false);
      this.#signed.add(name);
    }
  }

  /** A released signature verifies for the approved message, and an intent never gets another. */
  released(
    intentId: string,
    curve: string,
    publicKey: Uint8Array,
    message: Uint8Array,
    signed: SignatureShareResponse,
  ): void {
    expect(signed.isComplete).toBe(signed.fullSignature.length > 0);
    if (!signed.isComplete) return;
    const hex = Buffer.from(signed.fullSignature).toString('hex');
    expect(this.#signatures.get(intentId) ?? hex).toBe(hex);
    if (!this.#signatures.has(intentId)) {
      const holds =
        curve === 'bip340'
          ? schnorr.verify(signed.fullSignature, message, publicKey.subarray(1))
          : curve === 'ed25519'
            ? ed25519.verify(signed.fullSignature, message, publicKey)
            : secp256k1.verify(signed.fullSignature, message, publicKey, { prehash: false, lowS: true });
      expect(holds).toBe(true);
    }
    this.#signatures.set(intentId, hex);
  }
}
