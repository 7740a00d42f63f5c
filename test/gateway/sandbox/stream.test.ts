/** GET /v1/sandbox/stream: hello and batches, its pace, slow readers, a supervisor that is away, and its places. */
import { afterEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../../core/actors/live/ports.ts';
import { AccessEntry } from '../../../gateway/access-log/access-log.ts';
import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import { compileSchema } from '../../../gateway/api/validate.ts';
import { IntendedLoads } from '../../../gateway/sandbox/load-routes.ts';
import { RequestLog } from '../../../gateway/sandbox/request-log.ts';
import { SandboxStream, type SandboxStreamOptions } from '../../../gateway/sandbox/sandbox-stream.ts';
import { StreamPlaces } from '../../../gateway/sandbox/stream-places.ts';
import {
  type StreamBatchValue,
  type StreamHelloValue,
  StreamMessage,
} from '../../../gateway/sandbox/stream-schemas.ts';
import { placeOf } from '../../../gateway/sandbox/stream-views.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { streamTopics } from '../../../scenarios/faults/stream.ts';
import { FakeControl } from '../../support/fake-control.ts';
import { until } from '../../support/until.ts';
import { VirtualTimers } from '../../support/virtual-timers.ts';

const check = compileSchema(StreamMessage);
const open: SandboxStream[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.return()));
});

/** Of either kind. */
type Data = Omit<StreamHelloValue, 'kind'> & Omit<StreamBatchValue, 'kind'>;

interface Page {
  readonly stream: SandboxStream;
  cuts: number;
  /** The next message that `isIt`; other blocks are passed over. */
  next(isIt?: (data: Data, event: string) => boolean): Promise<Data>;
}

function pageOn(control: FakeControl | undefined, more: Partial<SandboxStreamOptions> = {}): Page {
  const page: Page = {
    cuts: 0,
    stream: new SandboxStream({
      ...{
        version: '0.0.0-test',
        control,
        timers: systemPorts.timers,
        place: new StreamPlaces().take(),
        topics: streamTopics,
      },
      ...{ tenant: undefined, after: undefined, requests: undefined, culpritsOf: async () => [2] },
      caller: {
        stillAdmitted: async () => true,
        cut: () => {
          page.cuts += 1;
        },
      },
      ...more,
    }),
    next: async (isIt = () => true) => {
      for (;;) {
        const { value, done } = await page.stream.next();
        if (done) throw new Error('the stream has ended');
        const [, id, event, json] = /^id: (.*)\nevent: (.*)\ndata: (.*)\n\n$/.exec(value) ?? [];
        if (json === undefined) continue;
        const data = JSON.parse(json) as Data;
        expect(check(structuredClone(data))).toBeUndefined();
        expect(data.next).toBe(id);
        if (isIt(data, event!)) return data;
      }
    },
  };
  open.push(page.stream);
  return page;
}

function frame(session: string, faults: readonly string[] = []): RunEvent {
  return {
    ...{ kind: 'frame', atMs: 1, arrivesMs: [1], from: 'coordinator', to: 'node/1', point: 'partial_request' },
    ...{ tenant: 'tn_a', session, attempt: 1, bytes: 10, text: '', faults },
  };
}

/** Adds requests of one tenant. */
function adding(requests: RequestLog): (id: string, error?: ServiceError) => void {
  return (id, error) => {
    const entry = new AccessEntry(id, systemPorts.timers.elapsedMs());
    entry.principal = { tenant: 'tn_a' } as AccessEntry['principal'];
    entry.error = error;
    requests.ended(entry, {
      door: 'http',
      method: 'GET',
      route: '/v1/x',
      endedMs: 0,
      aborted: false,
      isProbe: false,
    });
  };
}

const hasEvents = ({ events = [] }: Data) => events.length > 0;

describe('a stream of the sandbox', () => {
  it('begins with the present state, and continues with what happens', async () => {
    const control = new FakeControl();
    control.recording.add(frame('before'));
    const page = pageOn(control);
    const hello = await page.next();
    expect(hello).toMatchObject({ world: 'process', clusters: [{ number: 1, threshold: 3, nodes: 5 }], lost: false });
    expect(hello.processes).toHaveLength(7);
    expect(hello.sessions).toMatchObject([{ session: 'before', tenant: 'tn_a' }]);
    expect(hello.missing).toMatchObject([{ topic: 'deliveries' }]);
    control.recording.add(frame('after', ['flt_1']));
    const batch = await page.next(hasEvents);
    expect(batch).toMatchObject({ positions: [1], left_out: {}, lost: false });
    expect(batch.events).toMatchObject([{ kind: 'frame', session: 'after' }]);
    expect(batch.sessions).toMatchObject([{ session: 'after', culprits: [2], faults: ['flt_1'] }]);
    expect(batch.processes).toBeUndefined();
    const { figures } = await page.next((data) => data.figures !== undefined);
    expect(figures).toMatchObject({ processes: [{ resident_bytes: 1_000_000, cpu: 0 }] });
  });

  it('brings requests at once, errors first where not all fit, and continues without a supervisor', async () => {
    const control = new FakeControl();
    const requests = new RequestLog(systemPorts.timers);
    const add = adding(requests);
    add('before');
    // No other news for as long as the test runs.
    const page = pageOn(control, { requests, topics: ['requests', 'frames'], times: { heartbeatMs: 600_000 } });
    expect((await page.next()).requests).toMatchObject([{ request_id: 'before', tenant: 'tn_a', route: '/v1/x' }]);
    const later = page.next();
    add('after');
    const { requests: one, next } = await later;
    expect(one).toMatchObject([{ request_id: 'after' }]);
    const flood = page.next(({ left_out: left }) => (left?.requests ?? 0) > 0);
    add('failed', new ServiceError('notFound', 'no'));
    for (let count = 0; count < 900; count += 1) add(`many-${count}`);
    const { requests: fit, left_out: left } = await flood;
    expect(fit!.map(({ request_id: id }) => id)).toContain('failed');
    expect(fit!.at(-1)).toMatchObject({ request_id: 'many-899' });
    expect(fit!.length + left.requests!).toBe(901);
    const again = pageOn(control, { requests, after: placeOf(next), topics: ['requests'] });
    expect((await again.next()).lost).toBe(false);

    const alone = pageOn(undefined, { requests, topics: ['requests', 'frames'], times: { awayMs: 5 } });
    expect((await alone.next()).missing).toMatchObject([{ topic: 'frames' }]);
    const seen = alone.next();
    add('while it is away');
    expect((await seen).requests).toMatchObject([{ request_id: 'while it is away' }]);
  });

  it('brings frames beside requests that never cease', async () => {
    const control = new FakeControl();
    const requests = new RequestLog(systemPorts.timers);
    const add = adding(requests);
    const page = pageOn(control, { requests, topics: ['requests', 'frames'], times: { everyMs: 20 } });
    await page.next();
    let frames = 0;
    for (let round = 0; round < 10; round += 1) {
      control.recording.add(frame(`s_${round}`));
      add(`r_${round}`);
      frames += (await page.next()).events.length;
    }
    expect(frames).toBeGreaterThan(5);
  });

  it('counts the requests between two points, each refusal by its code, and has what a generator intends', async () => {
    const requests = new RequestLog(systemPorts.timers);
    const loads = new IntendedLoads(systemPorts.timers);
    const add = adding(requests);
    add('before', new ServiceError('notFound', 'no such thing'));
    const page = pageOn(new FakeControl(), {
      requests,
      loads,
      topics: ['figures'],
      times: { everyMs: 1, figuresMs: 5 },
    });
    const figures = async () => (await page.next((data) => data.figures !== undefined)).figures!;
    expect(await figures()).toMatchObject({ requests: { answered: 0, refused: [], p50_ms: null }, load: null });
    add('good');
    for (let count = 0; count < 3; count += 1) add(`bad ${count}`, new ServiceError('overloaded', 'too much'));
    loads.report({ load: 'checkout', stage: 'climb', rate: 40 });
    const now = await figures();
    expect(now.requests).toMatchObject({ answered: 4, refused: [{ code: 'rate_limited', count: 3 }] });
    expect(now.requests!.p50_ms).not.toBeNull();
    expect(now.load).toEqual({ load: 'checkout', stage: 'climb', rate: 40 });
  });

  it('takes a generator for ended when it says nothing for 5 s', () => {
    const timers = new VirtualTimers();
    const loads = new IntendedLoads(timers);
    loads.report({ load: 'l', stage: 's', rate: null });
    timers.advance(5_000);
    expect(loads.now).not.toBeNull();
    timers.advance(1);
    expect(loads.now).toBeNull();
  });

  it('continues after a position, and says when something between is gone', async () => {
    const control = new FakeControl();
    const page = pageOn(control);
    const { next } = await page.next();
    control.recording.add(frame('missed'));
    const again = pageOn(control, { after: placeOf(next) });
    expect(await again.next()).toMatchObject({ lost: false, next });
    expect((await again.next(hasEvents)).events).toMatchObject([{ session: 'missed' }]);
    for (let count = 0; count < 2_000; count += 1) control.recording.add(frame('many'));
    expect((await pageOn(control, { after: placeOf(next) }).next()).lost).toBe(true);
    expect((await pageOn(control, { after: placeOf('17-0') }).next()).lost).toBe(true);
  });

  it('has at most so many messages and bytes, whatever happens; what is left out is counted', async () => {
    const control = new FakeControl();
    const page = pageOn(control, { topics: ['frames', 'sessions'], times: { everyMs: 20 } });
    await page.next();
    const { timers } = systemPorts;
    const beganMs = timers.elapsedMs();
    let [bytes, messages, seen, left] = [0, 0, 0, 0];
    for (; timers.elapsedMs() - beganMs < 400; messages += 1) {
      for (let count = 0; count < 500; count += 1) control.recording.add(frame(`s_${messages}_${count % 50}`));
      const data = await page.next();
      bytes += JSON.stringify(data).length;
      seen += data.events.length;
      left += data.left_out.frames ?? 0;
    }
    const tookMs = timers.elapsedMs() - beganMs;
    expect(messages).toBeLessThanOrEqual(tookMs / 20 + 1);
    expect(bytes).toBeLessThan(100_000 * (1 + tookMs / 1_000) + 5_000);
    expect(left).toBeGreaterThan(0);
    expect(seen + left).toBe(500 * messages);
  });

  it('asks for nothing while its reader takes nothing, and is cut in the end', async () => {
    const control = new FakeControl();
    const page = pageOn(control, { times: { stallMs: 50 } });
    await page.next();
    const asked = control.asked.length;
    for (let count = 0; count < 10_000; count += 1) control.recording.add(frame('s'));
    await until(() => page.cuts === 1, 'the cut');
    expect(control.asked).toHaveLength(asked);
    expect((await page.stream.next()).done).toBe(true);
  });

  it('names what is missing and why when the supervisor is away, and begins again when it is back', async () => {
    const control = new FakeControl();
    control.refusal = { code: 'unavailable', message: 'faults are off: start the sandbox without SIGNMESH_FAULTS=off' };
    const page = pageOn(control, { times: { awayMs: 5 } });
    const away = await page.next();
    expect(away).toMatchObject({ began_at: null, processes: [] });
    expect(away.missing.map(({ topic }) => topic)).toEqual(streamTopics.filter((topic) => topic !== 'requests'));
    expect(away.missing[0]?.why).toContain('SIGNMESH_FAULTS=off');
    const back = await page.next();
    expect(back.processes).toHaveLength(7);
    control.refusal = { code: 'unavailable', message: 'it has ended' };
    expect((await page.next((_, event) => event === 'hello')).missing[0]?.why).toBe('it has ended');
    expect((await page.next((_, event) => event === 'hello')).processes).toHaveLength(7);
  });

  it('stays open without a supervisor, with a heartbeat', async () => {
    const { stream } = pageOn(undefined, { times: { awayMs: 1, heartbeatMs: 5 } });
    const texts: string[] = [];
    while (!texts.includes(': heartbeat\n\n')) texts.push((await stream.next()).value!);
    expect(texts.filter((text) => text.includes('event: hello'))).toHaveLength(1);
  });

  it('ends when its token is no longer valid', async () => {
    const caller = { stillAdmitted: async () => false, cut: () => undefined };
    const page = pageOn(new FakeControl(), { caller, times: { recheckMs: 0 } });
    await expect(page.next()).rejects.toThrow('the stream has ended');
  });
});

describe('places', () => {
  it('are so many, are given back, and end when the gateway stops', async () => {
    const places = new StreamPlaces(2);
    const first = pageOn(new FakeControl(), { place: places.take() });
    const second = pageOn(new FakeControl(), { place: places.take() });
    expect(() => places.take()).toThrow('a gateway has 2');
    await first.stream.return();
    places.take().leave();
    await second.next();
    const waiting = second.next();
    places.stop();
    await expect(waiting).rejects.toThrow('the stream has ended');
    expect(() => places.take()).toThrow('the gateway stops');
  });
});
