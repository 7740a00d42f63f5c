/**
 * A PKCS#11 token of the simulated world: one a node. Its keys outlive the node's process, as those of a device do. It answers
 * a millisecond after it was asked, or fails as it was told to.
 */

import { concatBytes, type RandomBytes } from '../crypto/bytes.ts';
import { ciphersuite } from '../crypto/frost/ciphersuite.ts';
import { type Curve, groupOf } from '../crypto/group.ts';
import { ecdsaChecks } from '../crypto/mock-ecdsa.ts';
import type { HsmFailure } from '../faults/vocabulary/fault.ts';
import type { HsmFault, HsmOutcome, HsmPort, HsmRequest } from '../nodes/records/hsm-port.ts';
import type { VirtualTime } from './virtual-time.ts';

const answerMs = 1;

export class SimToken implements HsmPort {
  readonly #time: VirtualTime;
  readonly #random: RandomBytes;
  readonly #fails: () => HsmFailure | undefined;
  /** Secret scalars by label. */
  readonly #keys = new Map<string, bigint>();
  /** What it answers in place of a signature. */
  fault: HsmFault | undefined;

  /** `fails`: how the armed faults make it fail now. */
  constructor(time: VirtualTime, random: RandomBytes, fails: () => HsmFailure | undefined) {
    this.#fails = fails;
    this.#time = time;
    this.#random = random;
  }

  /** Labels of its keys. */
  get labels(): string[] {
    return [...this.#keys.keys()];
  }

  ask(request: HsmRequest, answer: (outcome: HsmOutcome) => void): void {
    this.#time.after(answerMs, () => answer(this.#outcome(request)));
  }

  #outcome(request: HsmRequest): HsmOutcome {
    const failure = this.#fails();
    const fault = failure ? (`HSM_${failure.toUpperCase()}` as HsmFault) : this.fault;
    if (fault !== undefined) return { kind: 'failed', fault, message: `told to fail with ${fault}` };
    switch (request.kind) {
      case 'make': {
        const { curve, label, challenge } = request;
        const group = groupOf(curve);
        const secret = this.#keys.get(label) ?? group.randomScalar(this.#random);
        this.#keys.set(label, secret);
        return { kind: 'made', publicKey: group.baseMultiply(secret), signature: this.#sign(curve, secret, challenge) };
      }
      case 'sign': {
        const secret = this.#keys.get(request.label);
        if (secret === undefined) return { kind: 'failed', fault: 'HSM_TOKEN_ABSENT', message: 'no such key' };
        return { kind: 'signed', signature: this.#sign(request.curve, secret, request.message) };
      }
      case 'destroy':
        this.#keys.delete(request.label);
        return { kind: 'destroyed' };
    }
  }

  #sign(curve: Curve, secret: bigint, message: Uint8Array): Uint8Array {
    const group = groupOf(curve);
    if (curve === 'secp256k1') return ecdsaChecks.current.sign(group.encodeScalar(secret), message).signature;
    // RFC 8032 §5.1.6, with a random nonce.
    const nonce = group.randomScalar(this.#random);
    const R = group.baseMultiply(nonce);
    const c = ciphersuite('FROST-ED25519-SHA512-v1').challenge(R, group.baseMultiply(secret), message);
    return concatBytes(R, group.encodeScalar((nonce + c * secret) % group.order));
  }
}
