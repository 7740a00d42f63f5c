/** A client of a random run that reconciles: jobs, providers that report false movements, exceptions. */
import type { Draw } from './draw.ts';
import { found } from './finding.ts';
import type { Operator } from './operator.ts';
import type { StepOf } from './steps.ts';
import type { Tenancy } from './tenancy.ts';

export class ReconClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;
  readonly #draw: Draw;

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw) {
    this.#tenancy = tenancy;
    this.#operator = operator;
    this.#draw = draw;
  }

  async step(step: StepOf<'recon'>): Promise<void> {
    const { modules } = this.#tenancy;
    if (modules === undefined) return;
    const { jobs } = modules;
    if (step === 'drift') return this.#drift();
    if (step === 'resolve') return this.#resolve();
    if (step === 'recon' || jobs.length === 0) {
      const body = { kind: this.#draw.pick(['transactions', 'balances']), lag_s: this.#draw.pick([0, 120]) };
      const job = await this.#operator.made('/v1/recon/jobs', body, this.#tenancy.key('job'));
      jobs.push(job.id);
      return;
    }
    const target = `/v1/recon/jobs/${this.#draw.pick(jobs)}/cancel`;
    const { status, body } = await this.#operator.call('POST', target, {}, this.#tenancy.key('job-cancel'));
    if (status === 200 && body.status !== 'cancelled') found('changes-take-effect', `${target} leaves ${body.status}`);
    if (status !== 200 && status !== 409) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }

  /** For a while a provider reports false movements. */
  async #drift(): Promise<void> {
    const wallet = this.#draw.pick(this.#tenancy.wallets);
    const { body: held } = await this.#operator.call('GET', `/v1/wallets/${wallet.id}`);
    const target = `/v1/sandbox/provider-connections/${held.provider_connection_id}/drift`;
    const { status } = await this.#operator.call('POST', target, {
      kind: this.#draw.pick(['missing', 'duplicate', 'amount', 'status']),
      wallet_id: wallet.id,
    });
    // No movement of the wallet yet.
    if (status !== 201 && status !== 404 && status !== 409) found('changes-take-effect', `POST ${target}: ${status}`);
    const job = await this.#operator.made(
      '/v1/recon/jobs',
      { kind: 'transactions', lag_s: 0 },
      this.#tenancy.key('job'),
    );
    this.#tenancy.modules?.jobs.push(job.id);
    await this.#operator.client.pause(2_000);
    const removed = await this.#operator.call('DELETE', target);
    if (removed.status !== 204) found('changes-take-effect', `DELETE ${target}: ${removed.status}`);
  }

  /** Without a correction: the provider's report was false. */
  async #resolve(): Promise<void> {
    const open = await this.#operator.list<{ id: string }>(
      '/v1/recon/exceptions?status=open',
      'exceptions',
      this.#draw.integer(1, 5),
    );
    if (open.length === 0) return;
    const target = `/v1/recon/exceptions/${this.#draw.pick(open).id}/resolve`;
    const resolution = this.#draw.pick(['matched', 'written_off', 'false_positive']);
    const { status, body } = await this.#operator.call('POST', target, { resolution }, this.#tenancy.key('resolve'));
    if (status === 200 && body.status !== 'resolved') found('changes-take-effect', `${target} leaves ${body.status}`);
    if (status !== 200 && status !== 409) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }
}
