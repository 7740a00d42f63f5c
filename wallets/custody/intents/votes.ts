/**
 * Votes carry MACs under a key of the gateways: over tenant, intent, the receipt that the vote is about, actor, decision and time.
 * So no vote counts that no gateway took, nor one on another intent or another decision.
 */
import { createHash } from 'node:crypto';
import { RecordMacs } from '../../../core/crypto/record-macs.ts';
import type { IntentRecord, Vote } from './record.ts';

/** What is voted on: an intent, or the draft of one. */
export type VotedOn = Pick<IntentRecord, 'id' | 'policyReceipt'>;
/** A vote as a caller gives it. */
export type Ballot = Omit<Vote, 'mac'>;

export class VoteSeal {
  readonly #macs: RecordMacs;

  /** `receiptSeed`: secret, the same for all gateways. */
  constructor(receiptSeed: Uint8Array) {
    this.#macs = new RecordMacs(receiptSeed, 'signmesh/vote/v1');
  }

  seal(tenant: string, on: VotedOn, ballot: Ballot): Vote {
    return { ...ballot, mac: this.#macs.of(partsOf(tenant, on, ballot)) };
  }

  holds(tenant: string, on: VotedOn, vote: Vote): boolean {
    return this.#macs.holds(partsOf(tenant, on, vote), vote.mac);
  }
}

function partsOf(tenant: string, { id, policyReceipt }: VotedOn, { by, decision, atMs }: Ballot): readonly string[] {
  const digest = createHash('sha256')
    .update(policyReceipt ?? '')
    .digest('base64url');
  return [tenant, id, digest, by, decision, String(atMs)];
}
