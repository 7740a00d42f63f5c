/** What the crypto tests share: a repeatable random source, whole key generations, and outcomes of refused calls. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { expect } from 'vitest';
import type { RandomSource } from '../../../core/crypto/bytes.ts';
import { CryptoError, type CryptoErrorCode } from '../../../core/crypto/errors.ts';
import type { Curve } from '../../../core/crypto/group.ts';
import { finishDkg, type KeyPackage } from '../../../core/crypto/key-package.ts';
import { type Polynomial, randomPolynomial } from '../../../core/crypto/polynomial.ts';
import { commitTo, shareFor } from '../../../core/crypto/vss.ts';

export const CURVES: readonly Curve[] = ['secp256k1', 'ed25519'];
/** The suites that the keystore types use. */
export const frostSuites = { ed25519: 'FROST-ED25519-SHA512-v1', secp256k1: 'FROST-secp256k1-SHA256-TR-v1' } as const;

/** SHA-256 in counter mode over a label: the same bytes on every run. */
export function seededRandom(label: string): RandomSource {
  let counter = 0;
  return (length) => {
    const blocks: Buffer[] = [];
    for (let size = 0; size < length; size += 32) {
      blocks.push(createHash('sha256').update(`${label}/${counter++}`).digest());
    }
    return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
  };
}

export interface Deal {
  readonly polynomials: Polynomial[];
  readonly commitmentsByDealer: Uint8Array[][];
}

export function dealAll(curve: Curve, threshold: number, totalNodes: number, random: RandomSource): Deal {
  const polynomials = Array.from({ length: totalNodes }, () => randomPolynomial(curve, threshold, random));
  return { polynomials, commitmentsByDealer: polynomials.map((polynomial) => commitTo(curve, polynomial)) };
}

/** A whole DKG; `nodeIds` limits who finishes, for large n. */
export function generateKey(
  curve: Curve,
  threshold: number,
  totalNodes: number,
  random: RandomSource,
  nodeIds: readonly number[] = Array.from({ length: totalNodes }, (_, index) => index + 1),
): KeyPackage[] {
  const { polynomials, commitmentsByDealer } = dealAll(curve, threshold, totalNodes, random);
  return nodeIds.map((nodeId) =>
    finishDkg({
      curve,
      threshold,
      totalNodes,
      nodeId,
      commitmentsByDealer,
      sharesByDealer: polynomials.map((polynomial) => shareFor(curve, polynomial, nodeId)),
    }),
  );
}

/** The CryptoError that `call` throws; fails if it throws anything else, or nothing. */
export function refusalOf(call: () => unknown): CryptoError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(CryptoError);
    return error as CryptoError;
  }
  throw new Error('nothing was refused');
}

export function expectRefusal(code: CryptoErrorCode, call: () => unknown): void {
  expect(refusalOf(call).code).toBe(code);
}

/** Runs `call` and lets it fail, but only with a CryptoError. */
export function toleratesOnlyCryptoErrors(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(CryptoError);
  }
}

/** A copy with one bit turned over. */
export function flipBit(bytes: Uint8Array, bit: number): Uint8Array {
  const changed = bytes.slice();
  const at = bit % (bytes.length * 8);
  changed[at >> 3]! ^= 1 << (at & 7);
  return changed;
}

/** A point of secp256k1 whose abscissa lies above the group order and below the field's prime: once in 2^128 points. */
export function pointBeyondOrder(): Uint8Array {
  for (let abscissa = secp256k1.Point.Fn.ORDER + 1n; ; abscissa += 1n) {
    const encoded = Uint8Array.of(2, ...Buffer.from(abscissa.toString(16).padStart(64, '0'), 'hex'));
    try {
      return secp256k1.Point.fromBytes(encoded).toBytes();
    } catch {
      // No square: half of all abscissae have no point.
    }
  }
}

/** `count` distinct members of 1..total, chosen by `random`, in no particular order. */
export function chooseNodes(total: number, count: number, random: RandomSource): number[] {
  const pool = Array.from({ length: total }, (_, index) => index + 1);
  return Array.from({ length: count }, () => pool.splice(random(1)[0]! % pool.length, 1)[0]!);
}

/** A file of published vectors; `source` in it says whose. */
export function readVectors<T>(file: string): { readonly source: string; readonly tests: readonly T[] } {
  return JSON.parse(readFileSync(new URL(`./vectors/${file}`, import.meta.url), 'utf8'));
}
