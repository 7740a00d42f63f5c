/** A token that was rotated is the same caller. docs/wallet-api.md. */
import { found } from '../../service/invariants/finding.ts';
import type { Operator } from './operator.ts';
import type { FamilyStep } from './steps.ts';
import type { Tenancy } from './tenancy.ts';

export class AccessClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;

  constructor(tenancy: Tenancy, operator: Operator) {
    this.#tenancy = tenancy;
    this.#operator = operator;
  }

  /** "A rotated token has the same vote", and its first answer for a key. */
  async step(_: FamilyStep<'access'>): Promise<void> {
    if (!(await this.#tenancy.rotate(this.#operator))) return;
    this.#tenancy.landmarks.reach('token rotated');
    const { status, body } = await this.#operator.call('GET', '/v1/wallets');
    if (status !== 200) found('changes-take-effect', `a rotated token gets ${status} ${JSON.stringify(body)}`);
  }
}
