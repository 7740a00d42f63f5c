/** A client of a random run that tests, renames, disconnects and reconnects provider connections. docs/wallet-api.md. */

import { found } from '../../service/invariants/finding.ts';
import { issuesOf } from './answer-invariants.ts';
import type { Operator } from './operator.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import type { Tenancy } from './tenancy.ts';

/** The names of each provider's credentials. */
const credentialNames: Readonly<Record<string, readonly string[]>> = {
  fireblocks: ['api_key', 'private_key'],
  bitgo: ['api_key'],
  copper: ['api_key', 'api_secret'],
};
/** The status of a connection after its next test; undefined: the provider refuses it at once. */
const testCredentials: Readonly<Record<string, string | undefined>> = {
  ...{ invalid: undefined, lapsing: 'error', flaky: 'degraded' },
};
/** "A test of the connection from a second later on". */
const lapsesAfterMs = 1_100;

export class ConnectionClient extends RunClient {
  async step(step: FamilyStep<'connections'>): Promise<void> {
    const id = this.draw.pick([...this.tenancy.credentials.keys()]);
    if (step === 'connection_test') return this.#test(id);
    if (step === 'connection_name') {
      await this.#patch(id, { name: this.tenancy.key('connection named') });
      return;
    }
    if (step === 'connection_refused') return this.#refused();
    const target = `/v1/provider-connections/${id}/disconnect`;
    const answer = await this.operator.post(target, {}, this.tenancy.key('disconnect'));
    const isOpen =
      answer.status === 409 && issuesOf(answer).some((issue) => ['open_intents', 'version_conflict'].includes(issue));
    if (answer.status === 200 && answer.body.status !== 'disconnected' && !isReplay(answer)) {
      found('changes-take-effect', `${target} leaves ${answer.body.status}`);
    }
    if (answer.status !== 200 && !isOpen)
      found('changes-take-effect', `${target}: ${answer.status} ${issuesOf(answer)}`);
    await this.operator.client.pause(this.draw.int(50, 2_500));
    await reconnect(this.tenancy, this.operator, id);
  }

  /** Credentials that the provider refuses at once, or from its next test on. */
  async #refused(): Promise<void> {
    const draw = this.draw;
    const provider = draw.pick(Object.keys(credentialNames));
    const kind = draw.pick(Object.keys(testCredentials));
    const credentialsOf = (text: string) =>
      Object.fromEntries(credentialNames[provider]!.map((name) => [name, `${text}-${name}`]));
    const body = { provider, name: this.tenancy.key('connection'), credentials: credentialsOf(kind) };
    const made = await this.operator.post('/v1/provider-connections', body, this.tenancy.key('connection'));
    const after = testCredentials[kind];
    if (after === undefined) {
      if (made.status !== 422 || made.body.error.code !== 'provider_rejected')
        found('changes-take-effect', `a connection with ${kind} credentials: ${made.status} ${issuesOf(made)}`);
      return;
    }
    // With faults the custodian may not answer, or answer late.
    if (made.status !== 201) {
      if (this.tenancy.isCalm)
        found('changes-take-effect', `a connection of ${provider}: ${made.status} ${issuesOf(made)}`);
      return;
    }
    const { id } = made.body;
    await this.operator.client.pause(lapsesAfterMs);
    const target = `/v1/provider-connections/${id}`;
    const tested = await this.operator.post(`${target}/test`, {}, this.tenancy.key('test'));
    const [{ status }, shown] = [tested.body, await this.operator.call('GET', target)];
    const isTold = tested.status === 200 && status === after && shown.body.status === after;
    if (this.tenancy.isCalm && !isTold) {
      found('changes-take-effect', `${target} of ${kind} credentials: ${tested.status} ${status} ${shown.body.status}`);
    }
    const healed = await this.operator.call('PATCH', target, { credentials: credentialsOf('good') });
    const isHealed = healed.status === 200 && healed.body.status === 'connected';
    if (this.tenancy.isCalm && !isHealed) {
      found('changes-take-effect', `PATCH ${target} with credentials: ${healed.status} ${healed.body.status}`);
    }
  }

  /** Without faults every provider takes its credentials. */
  async #test(id: string): Promise<void> {
    const target = `/v1/provider-connections/${id}/test`;
    const { status, body } = await this.operator.post(target, {}, this.tenancy.key('test'));
    const isRight = status === 409 || (status === 200 && (!this.tenancy.isCalm || body.check.outcome === 'ok'));
    if (!isRight) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }

  async #patch(id: string, change: object): Promise<void> {
    const target = `/v1/provider-connections/${id}`;
    const { status, body } = await this.operator.call('PATCH', target, change);
    if (status !== 200 && status !== 409)
      found('changes-take-effect', `PATCH ${target}: ${status} ${JSON.stringify(body)}`);
  }
}

/** "A PATCH with new credentials reconnects it." */
export async function reconnect(tenancy: Tenancy, operator: Operator, id: string): Promise<void> {
  const target = `/v1/provider-connections/${id}`;
  const { status, body } = await operator.call('PATCH', target, { credentials: tenancy.credentials.get(id) });
  if (status === 409) return;
  if (status !== 200 || body.status !== 'connected') {
    found('changes-take-effect', `PATCH ${target} with credentials: ${status} ${body.status}`);
  }
}

function isReplay({ headers }: { readonly headers: Readonly<Record<string, string>> }): boolean {
  return headers['idempotent-replayed'] === 'true';
}
