/** Several workers over one Redis, and the death of one in the middle. */
import { type ChildProcess, spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Timers } from '../../../../core/actors/contract.ts';
import { systemTimers } from '../../../../core/actors/live/ports.ts';
import type { RunningWorker } from '../../../../gateway/worker.ts';
import { heartbeatKey } from '../../../../gateway/worker-heartbeat.ts';
import { relayDefaults } from '../../../../wallets/delivery/deliveries/outbox-relay.ts';
import { childProgram } from '../../../support/child-program.ts';
import { startRedis } from '../../../support/redis.ts';
import { runs } from '../../../support/thorough.ts';
import { until } from '../../../support/until.ts';
import { type Receiver, sequencesOf, startReceiver } from './support/receiver.ts';
import { foreverMs, type HookService, newTenant, startService } from './support/service.ts';

let service: HookService;
let target: Receiver;
const children: ChildProcess[] = [];

beforeEach(async () => {
  // One test makes Redis hang.
  service = await startService(await startRedis());
  target = await startReceiver();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await target.stop();
  await service.stop();
});

async function spawnWorker(): Promise<ChildProcess> {
  const script = childProgram(new URL('./child/run-worker.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(service.config)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', (text: Buffer) => {
      if (text.toString().includes('ready')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)));
  });
  return child;
}

/** The system's timers until a worker stops; what its stop waits for passes then at once or never, however busy the machine. */
function timersOfStop(passes: 'at once' | 'never') {
  let isStopping = false;
  let longestMs = 0;
  const timers: Timers = {
    ...systemTimers,
    start: (afterMs, run) => {
      if (!isStopping) return systemTimers.start(afterMs, run);
      longestMs = Math.max(longestMs, afterMs);
      return passes === 'at once' ? systemTimers.start(0, run) : () => undefined;
    },
  };
  /** Resolves to the longest time that its stop waits for anything. */
  const stopped = async (worker: RunningWorker): Promise<number> => {
    isStopping = true;
    await worker.stop();
    return longestMs;
  };
  return { timers, stopped };
}

/** Bodies of one event are the same bytes, and stand under the same webhook-id. */
function expectRepetitionsAlike({ received }: Receiver): void {
  const bodies = new Map<unknown, Buffer>();
  for (const { headers, raw, event } of received) {
    const id = headers['webhook-id'];
    expect(id).toBe(event.id);
    const known = bodies.get(id) ?? raw;
    expect(raw.equals(known)).toBe(true);
    bodies.set(id, known);
  }
}

test('two workers at once deliver every event, each once', async () => {
  // Neither takes a job over from the other, which is alive.
  const consumer = { lockMs: foreverMs };
  await Promise.all([service.work({ consumer }), service.work({ consumer })]);
  const tenants = [newTenant(), newTenant(), newTenant()];
  const hooks = new Map<string, { id: string; sequences: number[] }>();
  for (const tenant of tenants) {
    const { id } = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
    hooks.set(tenant, { id, sequences: [] });
  }
  const rounds = runs(2, 5);
  for (let round = 0; round < rounds; round += 1) {
    for (const [tenant, { sequences }] of hooks) sequences.push(...(await service.happen(tenant, 40)));
  }
  for (const [tenant, { id, sequences }] of hooks) {
    await service.settled(tenant, id);
    const deliveries = await service.deliveries(tenant, id);
    expect(deliveries.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(sequences);
    expect(deliveries.every(({ status, attemptCount }) => status === 'delivered' && attemptCount === 1)).toBe(true);
  }
  expect(target.received).toHaveLength(rounds * 120);
  expect(new Set(target.received.map(({ headers }) => headers['webhook-id'])).size).toBe(rounds * 120);
});

test('a worker killed in the middle loses nothing: another makes its deliveries again', async () => {
  const doomed = await spawnWorker();
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  // Ten requests are under way, unanswered, when it dies.
  target.answer = (_, index) => (index >= 100 && index < 110 ? 'hang' : 200);
  const sequences = await service.happen(tenant, 400);
  await until(() => target.received.length > 110, 'the middle');
  doomed.kill('SIGKILL');
  await new Promise((resolve) => doomed.once('exit', resolve));
  target.answer = () => 200;
  sequences.push(...(await service.happen(tenant, 20)));

  await spawnWorker();
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);
  expectRepetitionsAlike(target);
  // Twice is what was under way when it died, and no more than the window: a worker repeats nothing of its own (the next test).
  expect(target.received.length - sequences.length).toBeGreaterThanOrEqual(10);
  expect(target.received.length - sequences.length).toBeLessThanOrEqual(relayDefaults.windowMax);
  const deliveries = await service.deliveries(tenant, hook.id);
  expect(deliveries.map(({ sequence }) => sequence).sort((a, b) => a - b)).toEqual(sequences);
  expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
});

test('a worker that got no CPU time until its locks ended gets its jobs again, and sends nothing twice', async () => {
  const worker = await spawnWorker();
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  target.answer = () => 'hang';
  const sequences = await service.happen(tenant, 10);
  await until(() => target.open === 10, 'ten requests under way');
  const locks = () => service.redis.keys('*:lock');
  worker.kill('SIGSTOP');
  await until(async () => (await locks()).length === 0, 'its locks to end');
  worker.kill('SIGCONT');
  await until(async () => (await locks()).length === 10, 'it to have its jobs again');
  target.answer = () => 200;
  target.release();
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);
  expect(target.received).toHaveLength(10);
});

test('jobs that BullMQ has lost are found and made again', async () => {
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const sequences = await service.happen(tenant, 10);
  // A relay dies between taking on and handing over: what it took on is outstanding, and has no job.
  await service.hooks.begin(tenant, hook.id, sequences[0]! - 1);
  const limits = { windowMax: 6, failingWindowMax: 6, retryingMax: 100, retainedMax: 100, retentionMs: 1e9 };
  const lost = await service.hooks.dispatch(
    tenant,
    { id: hook.id, version: 1, types: ['wallet.*'] },
    limits,
    Date.now(),
  );
  expect(lost?.jobs).toHaveLength(6);
  await service.work({ relay: { overdueMs: 200 } });
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);
});

test('a worker that is asked to stop ends its tries and leaves the rest to the next one', async () => {
  const { timers, stopped } = timersOfStop('never');
  const first = await service.work({ timers });
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  const sequences = await service.happen(tenant, 300);
  await until(() => target.received.length > 20, 'the middle');
  await stopped(first);
  const seen = target.received.length;
  expect(seen).toBeLessThan(300);
  await service.work();
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);
  expect(target.received).toHaveLength(300);
});

test('a worker that is asked to stop while a receiver hangs does not wait for it', async () => {
  target.answer = () => 'hang';
  const { timers, stopped } = timersOfStop('at once');
  const worker = await service.work({ timers });
  const tenant = newTenant();
  await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  await service.happen(tenant, 1);
  await until(() => target.open === 1, 'a request that hangs');
  const longestMs = await stopped(worker);
  expect(longestMs).toBeGreaterThan(1_000);
  expect(longestMs).toBeLessThan(4_000);
});

test('a worker leaves word that it is alive, which does not outlive it for long', async () => {
  const worker = await service.work();
  const key = heartbeatKey(hostname());
  await until(async () => (await service.redis.get(key)) === '1', 'its word');
  await until(async () => (await service.redis.pttl(key)) > 0, 'the end of its word to be set');
  await worker.stop();
  // It has ended already where the stop took that long.
  expect(await service.redis.pttl(key)).not.toBe(-1);
  expect(await service.redis.pttl(key)).toBeLessThanOrEqual(10_000);
});

test('while Redis is away nothing is lost and what arrived is not sent again', async () => {
  await service.work();
  const tenant = newTenant();
  const hook = await service.register(tenant, { url: target.url, events: ['wallet.*'] });
  await service.begun(tenant, hook.id);
  target.answer = () => 'hang';
  const sequences = await service.happen(tenant, 5);
  await until(() => target.open === 5, 'five tries');
  // Redis answers no command for a while; meanwhile the receiver answers.
  await service.redis.call('CLIENT', 'PAUSE', '2500', 'ALL');
  target.release();
  target.answer = () => 200;
  await service.settled(tenant, hook.id);
  expect(sequencesOf(target)).toEqual(sequences);
  expect(target.received).toHaveLength(5);
});
