/** A client of a random run that registers webhooks, changes, rotates, pings and deletes them. */

import { found } from '../../service/invariants/finding.ts';
import { redeliver } from './deliveries.ts';
import { RunClient } from './run-client.ts';
import type { FamilyStep } from './steps.ts';
import { followEvents } from './streams.ts';

const disturbing: readonly string[] = ['subscribe', 'toggle', 'flaky', 'gone', 'remove', 'rotate'];
/** Of each delivery, by the schedule of these runs. */
const triesMax = 6;
const subscriptions: readonly (readonly string[])[] = [
  ['*'],
  ['transaction_intent.*'],
  ['wallet.*', 'transaction_intent.completed'],
];

export class HookClient extends RunClient {
  async step(step: FamilyStep<'hooks'>): Promise<void> {
    const live = this.tenancy.hooks.filter(({ deletedMs }) => deletedMs === undefined);
    if (step === 'register' || live.length === 0) {
      if (this.tenancy.hooks.length < 4) await this.register(this.draw.pick(subscriptions));
      return;
    }
    const hook = this.draw.pick(live);
    const target = `/v1/webhooks/${hook.id}`;
    if (disturbing.includes(step)) hook.wasDisturbed = true;
    switch (step) {
      case 'subscribe':
        await this.#change(target, { events: this.draw.pick(subscriptions) });
        return;
      case 'toggle':
        await this.#change(target, { status: 'disabled' });
        if (this.draw.chance(0.5)) await this.operator.client.pause(this.draw.int(4_000, 8_000));
        await this.#change(target, { status: 'enabled' });
        return;
      case 'flaky': {
        // Faults of all receivers would use up the other tries of an event.
        if (!this.tenancy.isCalm) return;
        this.tenancy.world.receivers.failEach(hook.url, {
          ...{ status: this.draw.pick([500, 503, 404]), times: this.draw.int(1, triesMax - 1) },
          events: this.draw.int(1, 8),
        });
        return;
      }
      case 'redeliver':
        return redeliver(this.tenancy, hook, this.operator, this.draw);
      case 'follow':
        return followEvents(this.tenancy, this.operator, this.draw);
      case 'rotate': {
        const askedMs = this.operator.nowMs;
        const revokes = this.draw.chance(0.25);
        const { status, body } = await this.operator.call(
          'POST',
          `${target}/rotate-secret`,
          revokes ? { revoke_previous: true } : {},
          this.tenancy.key('rotate'),
        );
        // At most five secrets are valid at a time.
        if (status === 404 || status === 409) return;
        if (status !== 200) found('changes-take-effect', `${target}/rotate-secret: ${status} ${JSON.stringify(body)}`);
        const { secret, version } = body;
        hook.secrets.push({ secret, version, askedMs, madeMs: this.operator.nowMs, revokes });
        hook.secrets.sort((one, other) => one.version - other.version);
        this.tenancy.secrets.push(body.secret);
        return;
      }
      case 'ping':
        await this.operator.call('POST', `${target}/ping`, {}, this.tenancy.key('ping'));
        return;
      case 'remove': {
        // One webhook stays: it gets every event.
        if (hook === this.tenancy.hooks[0]) return;
        const { status } = await this.operator.call('DELETE', target);
        if (status !== 204 && status !== 404) found('changes-take-effect', `DELETE ${target}: ${status}`);
        hook.deletedMs ??= this.operator.nowMs;
        const after = await this.operator.call('GET', target);
        if (after.status !== 404) found('changes-take-effect', `GET ${target} after its deletion: ${after.status}`);
        return;
      }
      case 'gone':
        if (hook !== this.tenancy.hooks[0]) this.tenancy.world.receivers.behaveAt(hook.url, { status: 410 });
    }
  }

  async register(events: readonly string[]): Promise<void> {
    const { hooks, name, secrets } = this.tenancy;
    const url = `https://hooks.example.com/${name}/${this.tenancy.key('hook')}`;
    const askedMs = this.operator.nowMs;
    const {
      id,
      secret,
      url: shown,
    } = await this.operator.made('/v1/webhooks', { url, events }, this.tenancy.key('register'));
    hooks.push({
      id,
      url: shown,
      secrets: [{ secret, version: 1, askedMs, madeMs: this.operator.nowMs, revokes: false }],
      deletedMs: undefined,
      wasDisturbed: false,
    });
    secrets.push(secret);
  }

  async #change(target: string, change: object): Promise<void> {
    const { status, body } = await this.operator.call('PATCH', target, change);
    if (status === 404) return;
    if (status !== 200) found('changes-take-effect', `PATCH ${target}: ${status} ${JSON.stringify(body)}`);
  }
}
