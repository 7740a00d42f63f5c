/**
 * Every invariant of a run, one checker each: they look at everything that happens, at the moment it happens. A checker
 * keeps what it needs of the past and no more, since it is asked at every event of thousands of runs.
 *
 * A checker belongs to one run. What it finds is in words without secrets.
 */
import type { Checker } from '../observation.ts';
import { eventsComplete } from './events-complete.ts';
import { groupKeyAgreed } from './group-key-agreed.ts';
import { honestNeverBlamed } from './honest-never-blamed.ts';
import { noBugs } from './no-bugs.ts';
import { noSecretInClear } from './no-secret-in-clear.ts';
import { nonceSignsOnce } from './nonce-signs-once.ts';
import { oneIntentOneEffect } from './one-intent-one-effect.ts';
import { promisedIsDurable } from './promised-is-durable.ts';
import { quorumSigned } from './quorum-signed.ts';
import { signatureVerifies } from './signature-verifies.ts';
import { tokenUsedOnce } from './token-used-once.ts';
import { transitionsOnTable } from './transitions-on-table.ts';
import { releasedVerifier, type SignatureVerifier } from './verifier.ts';

/** What the checkers of one run are told of it. */
export interface CheckContext {
  /** Of the cryptography that the run uses; @noble/curves by default. */
  readonly verify?: SignatureVerifier | undefined;
  /** What the world itself keeps secret: identity seeds, the resume key. Asked for once, when it is needed. */
  readonly secrets?: (() => readonly Uint8Array[]) | undefined;
  /** The run has a webhook receiver that every event reaches in the end. */
  readonly delivers?: boolean | undefined;
}

/** New checkers for one run, in the order of their names. */
export function allCheckers({
  verify = releasedVerifier,
  secrets = () => [],
  delivers = false,
}: CheckContext = {}): Checker[] {
  return [
    eventsComplete(delivers),
    groupKeyAgreed(),
    honestNeverBlamed(),
    noBugs(),
    noSecretInClear(secrets),
    nonceSignsOnce(),
    oneIntentOneEffect(),
    promisedIsDurable(),
    quorumSigned(),
    signatureVerifies(verify),
    tokenUsedOnce(),
    transitionsOnTable(),
  ];
}
