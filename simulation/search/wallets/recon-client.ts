/** A client of a random run that reconciles: jobs, providers that report false movements, exceptions. */

import type { ToldEvent } from '../../service/invariants/documented-ledger.ts';
import { found } from '../../service/invariants/finding.ts';
import type { ToldException } from './reconciled.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import type { ModuleFacts } from './tenancy.ts';

/** What a provider may report of a movement, and the exception that follows when it is completed. */
const exceptionOf = {
  missing: 'missing_external',
  duplicate: 'duplicate',
  amount: 'amount_mismatch',
  status: 'status_mismatch',
} as const;
type DriftKind = keyof typeof exceptionOf;
const driftKinds = Object.keys(exceptionOf) as DriftKind[];
/** Two jobs of a tenant run at a time. */
const foundWithinMs = 120_000;
const lookEveryMs = 1_000;

interface Drifted {
  readonly movement: string;
  readonly direction: 'in' | 'out';
}

export class ReconClient extends RunClient {
  async step(step: FamilyStep<'recon'>): Promise<void> {
    const { modules } = this.tenancy;
    if (modules === undefined) return;
    const { jobs } = modules;
    if (step === 'drift') return this.#drift(modules);
    if (step === 'resolve') return this.#resolve();
    if (step === 'recon' || jobs.length === 0) {
      const body = { kind: this.draw.pick(['transactions', 'balances']), lag_s: this.draw.pick([0, 120]) };
      const job = await this.operator.made('/v1/recon/jobs', body, this.tenancy.key('job'));
      jobs.push(job.id);
      return;
    }
    const target = `/v1/recon/jobs/${this.draw.pick(jobs)}/cancel`;
    const { status, body } = await this.operator.call('POST', target, {}, this.tenancy.key('job-cancel'));
    if (status === 200 && body.status !== 'cancelled') found('changes-take-effect', `${target} leaves ${body.status}`);
    if (status !== 200 && status !== 409) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }

  /** For a while a provider reports false movements. */
  async #drift(modules: ModuleFacts): Promise<void> {
    if (modules.isDrifting) return;
    modules.isDrifting = true;
    const { wallets, submitted } = this.tenancy;
    const used = wallets.filter(({ id }) =>
      submitted.some(({ walletId, intentId }) => walletId === id && intentId !== null),
    );
    const wallet = this.draw.pick(used.length > 0 ? used : wallets);
    const { body: held } = await this.operator.call('GET', `/v1/wallets/${wallet.id}`);
    const target = `/v1/sandbox/provider-connections/${held.provider_connection_id}/drift`;
    const kind = this.draw.pick(driftKinds);
    const { status, body: drift } = await this.operator.call('POST', target, { kind, wallet_id: wallet.id });
    // No movement of the wallet yet.
    if (status !== 201 && status !== 404 && status !== 409) found('changes-take-effect', `POST ${target}: ${status}`);
    const booked = status === 201 ? await this.#booked(wallet.id, drift) : undefined;
    const job = await this.operator.made('/v1/recon/jobs', { kind: 'transactions', lag_s: 0 }, this.tenancy.key('job'));
    modules.jobs.push(job.id);
    if (booked !== undefined && this.tenancy.isCalm) await this.#findsDrift(job.id, wallet.id, kind, booked);
    else await this.operator.client.pause(2_000);
    if (this.draw.chance(0.6)) await this.#resolveAndLook(modules);
    const removed = await this.operator.call('DELETE', target);
    if (removed.status !== 204) found('changes-take-effect', `DELETE ${target}: ${removed.status}`);
    modules.isDrifting = false;
  }

  /** "A job reopens a resolved exception only when the values differ": another job while the provider still reports the same. */
  async #resolveAndLook({ jobs }: ModuleFacts): Promise<void> {
    await this.#resolve();
    const body = { kind: 'transactions', lag_s: 0 };
    jobs.push((await this.operator.made('/v1/recon/jobs', body, this.tenancy.key('job'))).id);
    await this.operator.client.pause(2_000);
  }

  /** Our record of a completed movement, of which any other report is a difference: an intent's id, or "deposit". */
  async #booked(walletId: string, { movement, direction }: Drifted): Promise<string | undefined> {
    if (direction === 'in') {
      const target = `/v1/events?type=wallet.deposit_received&resource_id=${walletId}`;
      const events = await this.operator.list<ToldEvent>(target, 'events');
      return events.some(({ data }) => data.object.deposit.tx_id === movement) ? 'deposit' : undefined;
    }
    const intents = await this.operator.list<{ id: string; status: string; provider_tx_id: string | null }>(
      `/v1/wallets/${walletId}/transaction-intents?status=completed`,
      'transaction_intents',
    );
    return intents.find(({ id, provider_tx_id: txId }) => id === movement || txId === movement)?.id;
  }

  /** Without faults a job that was not cancelled finds it. */
  async #findsDrift(jobId: string, walletId: string, kind: DriftKind, booked: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < foundWithinMs; waitedMs += lookEveryMs) {
      await this.operator.client.pause(lookEveryMs);
      const { body: job } = await this.operator.call('GET', `/v1/recon/jobs/${jobId}`);
      if (job.status === 'cancelled') return;
      if (job.status !== 'completed') continue;
      const target = `/v1/recon/exceptions?wallet_id=${walletId}&type=${exceptionOf[kind]}`;
      const exceptions = await this.operator.list<ToldException>(target, 'exceptions');
      const isFound = exceptions.some(({ sources: { internal } }) => [internal?.kind, internal?.id].includes(booked));
      if (!isFound) found('providers-agree', `job ${jobId} finds no ${exceptionOf[kind]} of ${booked} in ${walletId}`);
      return;
    }
    found('orders-end', `job ${jobId} has not ended within ${foundWithinMs} ms`);
  }

  /** Without a correction: the provider's report was false. */
  async #resolve(): Promise<void> {
    const open = await this.operator.list<{ id: string }>(
      '/v1/recon/exceptions?status=open',
      'exceptions',
      this.draw.int(1, 5),
    );
    if (open.length === 0) return;
    const target = `/v1/recon/exceptions/${this.draw.pick(open).id}/resolve`;
    const resolution = this.draw.pick(['matched', 'written_off', 'false_positive']);
    const { status, body } = await this.operator.call('POST', target, { resolution }, this.tenancy.key('resolve'));
    if (status === 200 && body.status !== 'resolved') found('changes-take-effect', `${target} leaves ${body.status}`);
    if (status !== 200 && status !== 409) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }
}
