/**
 * A PKCS#11 token of the simulated world: one a node. Its keys survive the node's process, as in a real device. It answers a
 * millisecond after a request, or fails as its fault says.
 */

import type { RandomSource } from '../../core/crypto/bytes.ts';
import type { HsmFault, HsmOutcome, HsmPort, HsmRequest } from '../../nodes/records/hsm-port.ts';
import type { HsmFailure } from '../../scenarios/faults/vocabulary/fault-parts.ts';
import { HeldKeys } from '../../wallets/providers/vendor/public.ts';
import type { VirtualTime } from './virtual-time.ts';

const answerMs = 1;

export class SimToken implements HsmPort {
  readonly #time: VirtualTime;
  readonly #fails: () => HsmFailure | undefined;
  readonly #failed: ((fault: string) => void) | undefined;
  readonly #keys: HeldKeys;
  /** Its answer in place of a signature. */
  fault: HsmFault | undefined;

  /** `fails`: the failure that the armed faults cause now. `failed` gets each of them. */
  constructor(
    time: VirtualTime,
    random: RandomSource,
    fails: () => HsmFailure | undefined,
    failed?: (fault: string) => void,
  ) {
    this.#fails = fails;
    this.#failed = failed;
    this.#time = time;
    this.#keys = new HeldKeys(random);
  }

  /** Labels of its keys. */
  get labels(): string[] {
    return this.#keys.labels;
  }

  ask(request: HsmRequest, answer: (outcome: HsmOutcome) => void): void {
    this.#time.after(answerMs, () => {
      const outcome = this.#outcome(request);
      if (outcome.kind === 'failed') this.#failed?.(outcome.fault);
      answer(outcome);
    });
  }

  #outcome(request: HsmRequest): HsmOutcome {
    const failure = this.#fails();
    const fault = failure ? (`HSM_${failure.toUpperCase()}` as HsmFault) : this.fault;
    if (fault !== undefined) return { kind: 'failed', fault, message: `told to fail with ${fault}` };
    switch (request.kind) {
      case 'make': {
        const { curve, label, challenge } = request;
        const publicKey = this.#keys.make(label, curve);
        return { kind: 'made', publicKey, signature: this.#keys.sign(label, challenge)! };
      }
      case 'sign': {
        const signature = this.#keys.sign(request.label, request.message);
        if (signature === undefined) return { kind: 'failed', fault: 'HSM_TOKEN_ABSENT', message: 'no such key' };
        return { kind: 'signed', signature };
      }
      case 'destroy':
        this.#keys.delete(request.label);
        return { kind: 'destroyed' };
    }
  }
}
