/** What must hold at every moment of every run, whatever crashes, is lost, or comes twice. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js';
import { expect } from 'vitest';
import type { ActorEvent, Envelope } from '../../../actors/contract.ts';
import { type SessionState, transitions } from '../../../coordinator/session/transitions.ts';
import type { SignatureShareResponse } from '../../../proto/gen/svc/mesh/v1/mpc_wallet_pb.ts';
import { type ReasonCode, reasonCodes } from '../../../proto/reason-codes.ts';
import type { WireMessage } from '../../../proto/wire.ts';
import { type Answered, expectComplete } from './world.ts';

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

  /** Of new events: no node signs twice with one nonce; nobody is blamed where all are honest. */
  events(events: readonly { readonly address: string; readonly event: ActorEvent }[]): void {
    for (const { address, event } of events) {
      expect(event.fields.culprits ?? []).toEqual([]);
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
