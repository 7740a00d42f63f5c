/**
 * The reference: the FROST signatures and the DKG of @noble/curves, 3 of 5, on this one thread, without network, store or
 * service. Audited TypeScript, and the only FROST for JavaScript that users would choose.
 */
import { randomBytes } from 'node:crypto';
import type { FROST, Key } from '@noble/curves/abstract/frost.js';
import { ed25519_FROST } from '@noble/curves/ed25519.js';
import { schnorr_FROST } from '@noble/curves/secp256k1.js';
import { type Rate, repeat } from './repeat.ts';

const random = (length = 32): Uint8Array<ArrayBuffer> => new Uint8Array(randomBytes(length));

const signers = { min: 3, max: 5 };
const suites = { 'FROST-ed25519': ed25519_FROST, 'FROST-secp256k1 (BIP-340)': schnorr_FROST } as const;

export interface NobleRates {
  readonly suite: string;
  readonly sign: Rate;
  readonly dkg: Rate;
}

export function nobleRates(forMs: number): NobleRates[] {
  return Object.entries(suites).map(([suite, frost]) => {
    const keys = makeKeys(frost);
    return { suite, sign: repeat(() => signOnce(frost, keys), forMs), dkg: repeat(() => makeKeys(frost), forMs) };
  });
}

/** The parts of all five participants. */
function makeKeys(frost: FROST): Key[] {
  const ids = Array.from({ length: signers.max }, (_, index) => frost.Identifier.fromNumber(index + 1));
  const dealt = ids.map((id) => frost.DKG.round1(id, signers, undefined, random));
  const announced = dealt.map((deal) => deal.public);
  const othersOf = (index: number) => announced.filter((_, other) => other !== index);
  const sent = dealt.map((deal, index) => frost.DKG.round2(deal.secret, othersOf(index)));
  return dealt.map((deal, index) => {
    const received = sent.flatMap((boxes, sender) => (sender === index ? [] : [boxes[ids[index]!]!]));
    return frost.DKG.round3(deal.secret, othersOf(index), received);
  });
}

/** Nonces, three partials, the aggregate and its verification. */
function signOnce(frost: FROST, keys: readonly Key[]): void {
  const message = randomBytes(32);
  const quorum = keys.slice(0, signers.min);
  const nonces = quorum.map((key) => frost.commit(key.secret, random));
  const commitments = nonces.map((nonce) => nonce.commitments);
  const partials = Object.fromEntries(
    quorum.map((key, index) => [
      key.secret.identifier,
      frost.signShare(key.secret, key.public, nonces[index]!.nonces, commitments, message),
    ]),
  );
  const shared = keys[0]!.public;
  const signature = frost.aggregate(shared, commitments, message, partials);
  if (!frost.verify(signature, message, shared.commitments[0]!)) throw new Error('the reference signed wrongly');
}
