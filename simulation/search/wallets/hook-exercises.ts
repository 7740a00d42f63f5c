/**
 * The tries of one delivery at rest: a receiver fails some of them, and each next one comes when docs/webhooks.md says. For runs
 * whose clocks agree.
 */
import { found } from '../../service/invariants/finding.ts';
import type { HookFacts } from '../../service/invariants/hooks.ts';
import type { ToldDelivery } from './deliveries.ts';
import { done, type Exercise, refused, shows } from './exercise.ts';

/** The pauses after each failed try, in a world of the search. */
export const searchScheduleMs: readonly number[] = [500, 2_000, 5_000, 20_000, 60_000];
/** "Each ±20 %". */
const jitterShare = 0.2;
/** From its time to its arrival: the relay, the queue and the way. */
const lateMs = 3_000;
const lookEveryMs = 200;
const failures = [500, 503, 404, 302, 429] as const;

interface Retried extends ToldDelivery {
  readonly next_attempt_at: string | null;
  readonly attempts: readonly { readonly at: string; readonly status: number | null; readonly latency_ms: number }[];
}

interface Try {
  readonly atMs: number;
  readonly status: number;
  /** Of its Retry-After; 0: none. */
  readonly retryAfterMs: number;
}

/** A delivery fails, is tried again, and ends; then it is sent again, and begins the schedule anew. */
export async function retriedDelivery(exercise: Exercise): Promise<void> {
  const { tenancy, draw, operator } = exercise;
  const { receivers } = tenancy.world;
  const { hook, facts } = await registered(exercise, 'retried');
  const { id, url } = hook;
  const tries: Try[] = [];
  const failedTries = draw.int(1, searchScheduleMs.length + 1);
  // While it is sent again it fails once more.
  const again = draw.int(0, 1);
  let toFail = failedTries;
  receivers.attend(url, async ({ atMs }) => {
    toFail -= 1;
    const status = toFail >= 0 ? draw.pick(failures) : 200;
    const retryAfterS = status !== 200 && draw.chance(0.3) ? draw.int(1, 8) : 0;
    tries.push({ atMs, status, retryAfterMs: 1_000 * retryAfterS });
    return { status, retryAfter: retryAfterS > 0 ? String(retryAfterS) : undefined };
  });
  await done(exercise, 'POST', `/v1/webhooks/${id}/ping`, {});
  const isEnded = failedTries > searchScheduleMs.length;
  const one = await followed(exercise, id, tries, 0, isEnded ? failedTries : failedTries + 1);
  shows(`${one.id} after ${failedTries} failed tries`, one, { status: isEnded ? 'failed' : 'delivered' });
  toFail = again;
  const before = tries.length;
  const { status } = await done(exercise, 'POST', `/v1/webhooks/${id}/deliveries/${one.id}/redeliver`, {});
  if (status === 'failed') found('changes-take-effect', `${one.id} is sent again, and shown as ${status}`);
  const last = await followed(exercise, id, tries, before, before + again + 1);
  shows(`${last.id}, sent again`, last, { status: 'delivered' });
  const shown = await done(exercise, 'GET', `/v1/webhooks/${id}`);
  shows(`/v1/webhooks/${id} after its deliveries`, shown, { failing_since: null });
  await done(exercise, 'PATCH', `/v1/webhooks/${id}`, { status: 'disabled' });
  await refused(exercise, ['POST', `/v1/webhooks/${id}/deliveries/${one.id}/redeliver`, {}], 409);
  await refused(exercise, ['POST', `/v1/webhooks/${id}/redeliver`, {}], 409);
  await operator.client.pause(2 * lookEveryMs);
  if (tries.length !== before + again + 1) found('hooks-get-events', `${url} got ${tries.length} tries of ${one.id}`);
  await done(exercise, 'DELETE', `/v1/webhooks/${id}`);
  facts.deletedMs = operator.nowMs;
  receivers.attend(url, undefined);
}

/** "Enabled resumes it where it stopped": what was on its way when it was disabled arrives afterwards. */
export async function pausedWebhook(exercise: Exercise): Promise<void> {
  const { tenancy, draw, operator } = exercise;
  const { hook, facts } = await registered(exercise, 'paused');
  const target = `/v1/webhooks/${hook.id}`;
  const pings = Array.from({ length: draw.int(2, 5) }, async () => {
    await operator.client.pause(draw.int(0, 40));
    return operator.post(`${target}/ping`, {}, tenancy.key('ping'));
  });
  await operator.client.pause(draw.int(0, 60));
  await done(exercise, 'PATCH', target, { status: 'disabled' });
  const pinged = (await Promise.all(pings)).filter(({ status }) => status <= 299).length;
  await operator.client.pause(draw.int(1, lateMs));
  await done(exercise, 'PATCH', target, { status: 'enabled' });
  await operator.client.pause(lateMs);
  const { received } = tenancy.world.receivers;
  const events = new Set(received.filter(({ url }) => url === hook.url).map(({ headers }) => headers['webhook-id']));
  if (events.size !== pinged) found('hooks-get-events', `${target} got ${events.size} of ${pinged} pings once enabled`);
  const shown = await done(exercise, 'GET', target);
  shows(`${target}, its queue`, shown.queue, { outstanding: 0, retrying: 0, behind: 0 });
  await done(exercise, 'DELETE', target);
  facts.deletedMs = operator.nowMs;
}

/** A webhook of its own, of which the checks at the end know. */
async function registered(exercise: Exercise, name: string) {
  const { tenancy, operator } = exercise;
  const url = `https://hooks.example.com/${tenancy.name}/${tenancy.key(name)}`;
  const askedMs = operator.nowMs;
  const hook = await done(exercise, 'POST', '/v1/webhooks', { url, events: ['policy.created'] });
  const { id, secret } = hook;
  tenancy.secrets.push(secret);
  const secrets = [{ secret, version: 1, askedMs, madeMs: operator.nowMs, revokes: false }];
  const facts: HookFacts = { id, url, secrets, deletedMs: undefined, wasDisturbed: true };
  tenancy.hooks.push(facts);
  return { hook: { id: id as string, url }, facts };
}

/** Follows its tries number `first` to `count`, and compares their times. The delivery after the last of them. */
async function followed(
  exercise: Exercise,
  hookId: string,
  tries: readonly Try[],
  first: number,
  count: number,
): Promise<Retried> {
  const { operator } = exercise;
  const target = `/v1/webhooks/${hookId}/deliveries`;
  let dueMs = operator.nowMs;
  for (let made = first; ; ) {
    const waitedMs = operator.nowMs - dueMs;
    if (tries.length === made) {
      if (waitedMs > lateMs) found('hooks-get-events', `try ${made + 1} of ${hookId} is ${waitedMs} ms late`);
      await operator.client.pause(Math.max(lookEveryMs, -waitedMs));
      continue;
    }
    made += 1;
    const { atMs, status, retryAfterMs } = tries[made - 1]!;
    const about = `try ${made} of ${hookId}`;
    if (atMs < dueMs && made > first + 1)
      found('hooks-get-events', `${about} comes ${dueMs - atMs} ms before its time`);
    const one = await recorded(exercise, target, made);
    const shown = one.attempts.at(-1)!;
    if (shown.status !== status || Math.abs(Date.parse(shown.at) - atMs) > lateMs)
      found('hooks-get-events', `${target}/${one.id} shows ${about} as ${shown.status} at ${shown.at}`);
    const pauseMs = status === 200 ? undefined : searchScheduleMs[made - first - 1];
    if (pauseMs === undefined) {
      shows(`${target}/${one.id} after its last try`, one, { next_attempt_at: null });
      if (made !== count) found('hooks-get-events', `${about} was the last of ${count}`);
      return one;
    }
    shows(`${target}/${one.id} after ${about}`, one, { status: 'retrying' });
    dueMs = Date.parse(one.next_attempt_at ?? '');
    const endedMs = Date.parse(shown.at) + shown.latency_ms;
    const [least, most] = [(1 - jitterShare) * pauseMs, (1 + jitterShare) * pauseMs].map((ms) =>
      Math.max(ms, retryAfterMs),
    );
    const afterMs = dueMs - endedMs;
    if (!(afterMs >= least! - 2 && afterMs <= most! + 2))
      found('hooks-get-events', `${about} failed; the next comes after ${afterMs} ms, not ${least} to ${most}`);
  }
}

/** The delivery as soon as that try is in its record. */
async function recorded({ operator }: Exercise, target: string, count: number): Promise<Retried> {
  for (const sinceMs = operator.nowMs; ; await operator.client.pause(lookEveryMs)) {
    const [one] = await operator.list<Retried>(target, 'deliveries');
    if (one !== undefined && one.attempt_count >= count) return one;
    if (operator.nowMs - sinceMs > lateMs)
      found('hooks-get-events', `${target} shows ${one?.attempt_count} of ${count} tries`);
  }
}
