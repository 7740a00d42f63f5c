/** A token that was rotated is the same caller. docs/wallet-api.md. */
import { found } from '../../service/invariants/finding.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';

export class AccessClient extends RunClient {
  /** "A rotated token has the same vote", and its first answer for a key. */
  async step(_: FamilyStep<'access'>): Promise<void> {
    if (!(await this.tenancy.rotate(this.operator))) return;
    this.tenancy.landmarks.reach('token rotated');
    const { status, body } = await this.operator.call('GET', '/v1/wallets');
    if (status !== 200) found('changes-take-effect', `a rotated token gets ${status} ${JSON.stringify(body)}`);
  }
}
