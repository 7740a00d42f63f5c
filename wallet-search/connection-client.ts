/** A client of a random run that tests, renames, disconnects and reconnects provider connections. docs/wallet-api.md. */
import { issuesOf } from './answers.ts';
import type { Draw } from './draw.ts';
import { found } from './finding.ts';
import type { Operator } from './operator.ts';
import type { StepOf } from './steps.ts';
import type { Tenancy } from './tenancy.ts';

export class ConnectionClient {
  readonly #tenancy: Tenancy;
  readonly #operator: Operator;
  readonly #draw: Draw;

  constructor(tenancy: Tenancy, operator: Operator, draw: Draw) {
    this.#tenancy = tenancy;
    this.#operator = operator;
    this.#draw = draw;
  }

  async step(step: StepOf<'connections'>): Promise<void> {
    const id = this.#draw.pick([...this.#tenancy.credentials.keys()]);
    if (step === 'connection_test') return this.#test(id);
    if (step === 'connection_name') {
      await this.#patch(id, { name: this.#tenancy.key('connection named') });
      return;
    }
    const target = `/v1/provider-connections/${id}/disconnect`;
    const answer = await this.#operator.post(target, {}, this.#tenancy.key('disconnect'));
    const isOpen =
      answer.status === 409 && issuesOf(answer).some((issue) => ['open_intents', 'version_conflict'].includes(issue));
    if (answer.status === 200 && answer.body.status !== 'disconnected' && !isReplay(answer)) {
      found('changes-take-effect', `${target} leaves ${answer.body.status}`);
    }
    if (answer.status !== 200 && !isOpen)
      found('changes-take-effect', `${target}: ${answer.status} ${issuesOf(answer)}`);
    await this.#operator.client.pause(this.#draw.integer(50, 2_500));
    await reconnect(this.#tenancy, this.#operator, id);
  }

  /** Without faults every provider takes its credentials. */
  async #test(id: string): Promise<void> {
    const target = `/v1/provider-connections/${id}/test`;
    const { status, body } = await this.#operator.post(target, {}, this.#tenancy.key('test'));
    const isRight = status === 409 || (status === 200 && (!this.#tenancy.isCalm || body.check.outcome === 'ok'));
    if (!isRight) found('changes-take-effect', `${target}: ${status} ${JSON.stringify(body)}`);
  }

  async #patch(id: string, change: object): Promise<void> {
    const target = `/v1/provider-connections/${id}`;
    const { status, body } = await this.#operator.call('PATCH', target, change);
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
