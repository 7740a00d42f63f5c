/** What a page gets: by topic and tenant, within a size, by whole sessions, from its position on. */
import { describe, expect, test } from 'vitest';
import type { NodeStatus, StreamTakes } from '../../../scenarios/faults/control.ts';
import type { RunEvent } from '../../../scenarios/faults/recording.ts';
import { streamTopics } from '../../../scenarios/faults/stream.ts';
import { Recording } from '../../../scenarios/injection/recording.ts';
import { StreamSource } from '../../../scenarios/injection/stream-source.ts';

const beganMs = 1_000;
const at = (position: number) => ({ beganMs, position });
const all: StreamTakes = { topics: streamTopics, bytesMax: 100_000, waitMs: 0, whole: false, figures: false };

function frame(session: string, faults: readonly string[] = [], tenant = 't'): RunEvent {
  return {
    ...{ kind: 'frame', atMs: 1, arrivesMs: [1], from: 'coordinator', to: 'node/1', point: 'partial_request' },
    ...{ tenant, session, attempt: 1, bytes: 10, text: '', faults },
  };
}
const process: RunEvent = { kind: 'process', atMs: 2, process: 'node/1', what: 'down', text: '' };

function sourceOf(recording: Recording): StreamSource {
  const status = (name: string, pid: number) => ({ process: name, pid, cpuMs: 5, residentBytes: 7 }) as NodeStatus;
  return new StreamSource({
    ...{ recording, beganMs, about: { world: 'process', clusters: [] } },
    processes: () => [status('node/1', 1), status('node/2', 1), status('redis', 2)],
    scenario: () => null,
    faults: () => [],
  });
}

describe('what is new', () => {
  test('begins now, or after a position, and names what is gone', async () => {
    const recording = new Recording(10);
    const source = sourceOf(recording);
    for (let count = 0; count < 25; count += 1) recording.add(frame('s'));
    expect(await source.read(all)).toMatchObject({ events: [], lost: false, next: at(25) });
    expect(await source.read({ ...all, after: at(23) })).toMatchObject({
      positions: [23, 24],
      lost: false,
      next: at(25),
    });
    const late = await source.read({ ...all, after: at(3) });
    expect(late).toMatchObject({ lost: true, next: at(25) });
    expect(late.positions).toHaveLength(10);
    // A position of another life of the supervisor, which has fewer events.
    const other = await source.read({ ...all, after: { beganMs: 5, position: 24 } });
    expect(other).toMatchObject({ lost: true, next: at(25) });
    expect(other.positions).toHaveLength(10);
  });

  test('is of the topics and the tenant that were asked for', async () => {
    const recording = new Recording();
    const source = sourceOf(recording);
    const state = (address: string): RunEvent => ({ kind: 'state', atMs: 1, address, state: 'OPEN', fields: {} });
    for (const event of [frame('a'), process, frame('b', [], 'u'), state('signing/u/b'), state('cluster')]) {
      recording.add(event);
    }
    const positions = async (more: Partial<StreamTakes>) =>
      (await source.read({ ...all, after: at(0), ...more })).positions;
    expect(await positions({ topics: ['frames'] })).toEqual([0, 2]);
    expect(await positions({ topics: ['processes'] })).toEqual([1]);
    expect(await positions({ tenant: 'u' })).toEqual([1, 2, 3, 4]);
    expect(await positions({ tenant: 't' })).toEqual([0, 1, 4]);
    const { sessions } = await source.read({ ...all, after: at(0), tenant: 'u' });
    expect(sessions.map(({ session }) => session)).toEqual(['b']);
  });

  test('lists processes and faults when one changed, and sessions that changed', async () => {
    const recording = new Recording();
    const source = sourceOf(recording);
    recording.add(frame('a'));
    const first = await source.read({ ...all, after: at(0) });
    expect(first.processes).toBeUndefined();
    expect(first.sessions).toMatchObject([{ session: 'a', kind: 'signing', nodes: [1], frames: 1, retained: 'all' }]);
    recording.add(process);
    const second = await source.read({ ...all, after: first.next });
    expect(second.processes).toHaveLength(3);
    expect(second.faults).toBeUndefined();
    expect(second.sessions).toEqual([]);
    const { totals } = await source.read({ ...all, figures: true });
    expect(totals).toMatchObject({ frames: 1, bytes: 10, began: 1 });
    expect(totals?.usage).toEqual([
      { processes: ['node/1', 'node/2'], cpuMs: 5, residentBytes: 7 },
      { processes: ['redis'], cpuMs: 5, residentBytes: 7 },
    ]);
  });

  test('fits into its size: whole sessions, those that met a fault first; the rest is counted', async () => {
    const recording = new Recording();
    const source = sourceOf(recording);
    for (let round = 0; round < 10; round += 1) {
      for (let count = 0; count < 40; count += 1) recording.add(frame(`sig_${count}`));
    }
    for (let round = 0; round < 3; round += 1) recording.add(frame('hit', ['flt_1']));
    recording.add(process);
    const bytesMax = 10_000;
    const { events, positions, leftOut, next, sessions } = await source.read({ ...all, bytesMax, after: at(0) });
    expect(next).toEqual(at(404));
    expect(JSON.stringify(events).length + JSON.stringify(sessions).length).toBeLessThan(bytesMax * 1.1);
    expect(positions).toEqual([...positions].sort((one, other) => one - other));
    expect(events.length + leftOut.frames!).toBe(404);
    expect(sessions.length + leftOut.sessions!).toBe(41);
    expect(sessions.map(({ session }) => session)).toContain('hit');
    expect(events.at(-1)).toEqual(process);
    const counts = new Map<string, number>();
    for (const event of events) {
      if (event.kind === 'frame') counts.set(event.session, (counts.get(event.session) ?? 0) + 1);
    }
    expect(counts.get('hit')).toBe(3);
    counts.delete('hit');
    expect(counts.size).toBeGreaterThan(0);
    // All but the last are whole.
    expect([...counts.values()].filter((count) => count < 10).length).toBeLessThan(2);
    // The next message prefers the same sessions.
    for (let count = 0; count < 40; count += 1) recording.add(frame(`sig_${count}`));
    const more = await source.read({ ...all, topics: ['frames'], bytesMax: 600, after: next });
    const seen = more.events.map((event) => (event.kind === 'frame' ? event.session : ''));
    expect(seen.length).toBeGreaterThan(0);
    expect([...counts.keys()]).toEqual(expect.arrayContaining(seen));
  });

  test('is waited for; one who waits is answered by the first event', async () => {
    const recording = new Recording();
    const waiting = sourceOf(recording).read({ ...all, after: at(0), waitMs: 600_000 });
    recording.add(frame('a'));
    expect((await waiting).positions).toEqual([0]);
    expect(await sourceOf(recording).read({ ...all, after: at(1), waitMs: 1 })).toMatchObject({
      events: [],
      next: at(1),
    });
  });
});
