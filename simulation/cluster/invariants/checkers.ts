/**
 * Every invariant of a run, one checker each: it checks each observation at its moment. A checker stores only the past facts that
 * it needs, since it runs at every event of thousands of runs.
 *
 * A checker belongs to one run. Its findings contain no secrets.
 */
import type { Checker } from '../observation.ts';
import { dealersConsented } from './dealers-consented.ts';
import { eventsComplete } from './events-complete.ts';
import { frostShareHidden } from './frost-share-hidden.ts';
import { groupKeyAgreed } from './group-key-agreed.ts';
import { honestNeverBlamed } from './honest-never-blamed.ts';
import { noBugs } from './no-bugs.ts';
import { noSecretInClear } from './no-secret-in-clear.ts';
import { nonceSignsOnce } from './nonce-signs-once.ts';
import { oneCoordinatorWrites } from './one-coordinator-writes.ts';
import { oneIntentOneEffect } from './one-intent-one-effect.ts';
import { oneMessageAnIntent } from './one-message-an-intent.ts';
import { oneOrderAnIntent } from './one-order-an-intent.ts';
import { orderedByGateway } from './ordered-by-gateway.ts';
import { promisedIsDurable } from './promised-is-durable.ts';
import { quorumSigned } from './quorum-signed.ts';
import { untilRolledBack } from './rollbacks.ts';
import { signatureVerifies } from './signature-verifies.ts';
import { tokenUsedOnce } from './token-used-once.ts';
import { transitionsOnTable } from './transitions-on-table.ts';
import { releasedVerifier, type SignatureVerifier } from './verifier.ts';

/** The run's input for its checkers. */
export interface CheckContext {
  /** Verifier of the run's cryptography; @noble/curves by default. */
  readonly verify?: SignatureVerifier | undefined;
  /** Secrets of the world itself: identity seeds, the resume key. Called once, at their first use. */
  readonly secrets?: (() => readonly Uint8Array[]) | undefined;
  /** The run has a webhook receiver that every event reaches in the end. */
  readonly delivers?: boolean | undefined;
  /** Other clusters share its Redis: the coordinator only knows that their sessions hold an intent. */
  readonly isOneOfMany?: boolean | undefined;
  /** Whether a node's own configuration accepts client-supplied dealers; all nodes do by default. */
  readonly consents?: ((nodeId: number) => boolean) | undefined;
}

const eitherStore = ['node', 'coordinator'] as const;

/** New checkers for one run, in the order of their names. */
export function allCheckers({
  verify = releasedVerifier,
  secrets = () => [],
  delivers = false,
  consents = () => true,
  isOneOfMany = false,
}: CheckContext = {}): Checker[] {
  return [
    dealersConsented(consents),
    untilRolledBack(eventsComplete(delivers), ...eitherStore),
    frostShareHidden(),
    groupKeyAgreed(),
    honestNeverBlamed(),
    noBugs(),
    noSecretInClear(secrets),
    nonceSignsOnce(),
    oneCoordinatorWrites(),
    untilRolledBack(oneIntentOneEffect(), ...eitherStore),
    oneMessageAnIntent(),
    oneOrderAnIntent(),
    orderedByGateway(),
    untilRolledBack(promisedIsDurable(isOneOfMany), ...eitherStore),
    quorumSigned(),
    signatureVerifies(verify),
    untilRolledBack(tokenUsedOnce(), ...eitherStore),
    untilRolledBack(transitionsOnTable(), ...eitherStore),
  ];
}

/** Invariants across the clusters of one Redis: one checker sees the observations of all clusters. */
export const ofAllClusters: ReadonlySet<string> = new Set(['events-complete', 'one-intent-one-effect']);

/** Checkers of a further cluster: the others are the first cluster's. */
export function ownCheckers(context: CheckContext): Checker[] {
  return allCheckers(context).filter(({ invariant }) => !ofAllClusters.has(invariant));
}
