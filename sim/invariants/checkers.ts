/**
 * Every invariant of a run, one checker each: they look at everything that happens, at the moment it happens. A checker
 * keeps what it needs of the past and no more, since it is asked at every event of thousands of runs.
 *
 * A checker belongs to one run. What it finds is in words without secrets.
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
import { oneIntentOneEffect } from './one-intent-one-effect.ts';
import { oneMessageAnIntent } from './one-message-an-intent.ts';
import { oneOrderAnIntent } from './one-order-an-intent.ts';
import { orderedByGateway } from './ordered-by-gateway.ts';
import { promisedIsDurable } from './promised-is-durable.ts';
import { quorumSigned } from './quorum-signed.ts';
import { signatureVerifies } from './signature-verifies.ts';
import { tokenUsedOnce } from './token-used-once.ts';
import { transitionsOnTable } from './transitions-on-table.ts';
import { releasedVerifier, type SignatureVerifier } from './verifier.ts';

/** What a store no longer holds that was taken back says nothing about: from then on the checker is silent. */
export function untilRolledBack(checker: Checker): Checker {
  let rolledBack = false;
  return {
    invariant: checker.invariant,
    observe(observation) {
      const { kind } = observation;
      if (kind === 'fault' && observation.fault === 'rollback' && observation.what === 'fired') rolledBack = true;
      return rolledBack ? undefined : checker.observe(observation);
    },
    finish: () => (rolledBack ? undefined : checker.finish?.()),
  };
}

/** What the checkers of one run get from it. */
export interface CheckContext {
  /** Of the cryptography that the run uses; @noble/curves by default. */
  readonly verify?: SignatureVerifier | undefined;
  /** What the world itself keeps secret: identity seeds, the resume key. Asked for once, when it is needed. */
  readonly secrets?: (() => readonly Uint8Array[]) | undefined;
  /** The run has a webhook receiver that every event reaches in the end. */
  readonly delivers?: boolean | undefined;
  /** Other clusters share its Redis: the coordinator knows of their sessions that they hold an intent, and no more. */
  readonly isOneOfMany?: boolean | undefined;
  /** Whether a node's own configuration takes client-supplied dealers; all do by default. */
  readonly consents?: ((nodeId: number) => boolean) | undefined;
}

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
    untilRolledBack(eventsComplete(delivers)),
    frostShareHidden(),
    groupKeyAgreed(),
    honestNeverBlamed(),
    noBugs(),
    noSecretInClear(secrets),
    nonceSignsOnce(),
    untilRolledBack(oneIntentOneEffect()),
    oneMessageAnIntent(),
    oneOrderAnIntent(),
    orderedByGateway(),
    untilRolledBack(promisedIsDurable(isOneOfMany)),
    quorumSigned(),
    signatureVerifies(verify),
    untilRolledBack(tokenUsedOnce()),
    untilRolledBack(transitionsOnTable()),
  ];
}

/** What holds across the clusters of one Redis: one checker sees what happens in all of them. */
export const ofAllClusters: ReadonlySet<string> = new Set(['events-complete', 'one-intent-one-effect']);

/** Of a further cluster: the others are the first cluster's. */
export function ownCheckers(context: CheckContext): Checker[] {
  return allCheckers(context).filter(({ invariant }) => !ofAllClusters.has(invariant));
}
