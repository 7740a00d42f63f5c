/** The events of the ceremony that the page shows: of the recording and of the stream, each once, in the time of the session. */
import { expect, test } from 'vitest';
import type { SandboxEvent, SandboxFault } from '../../../clients/client/index.ts';
import { openSession } from '../../../clients/console/browser/ceremonies/open-session.ts';
import { sessionEvents } from '../../../clients/console/browser/ceremonies/session-events.ts';
import type { Browser } from '../../../clients/report/html/browser/dom.ts';
import { until } from '../../support/until.ts';

const frame = (atMs: number, faults: readonly string[] = [], session = 's'): SandboxEvent => ({
  ...{
    kind: 'frame',
    at_ms: atMs,
    arrives_ms: [atMs + 1],
    from: 'signing/tn/s',
    to: 'node/2',
    point: 'partial_request',
  },
  ...{ tenant: 'tn', session, attempt: 1, bytes: 9, text: '', faults },
});
const state = (atMs: number, address: string): SandboxEvent => ({
  kind: 'state',
  at_ms: atMs,
  address,
  state: 'x',
  fields: {},
});
const liar = {
  id: 'flt_1',
  fault: { fault: 'bad_partial', target: 'node/2' },
  armed_at: 'then',
} as unknown as SandboxFault;

/** A recording of all events, by their positions, which `session` narrows as the service does. */
function recording(events: readonly SandboxEvent[]) {
  const asked: string[] = [];
  const ask = async <T>(path: string): Promise<T> => {
    asked.push(path);
    const query = new URL(path, 'http://h').searchParams;
    const after = Number(query.get('after') ?? 0);
    const all = events.map((event, position) => ({ event, position }));
    const found = query.has('session')
      ? all.filter(({ event }) => event.kind === 'frame' && event.session === query.get('session'))
      : all.slice(after, after + Number(query.get('limit')));
    const columns = { events: found.map(({ event }) => event), positions: found.map(({ position }) => position) };
    return { ...columns, next: events.length } as T;
  };
  return { ask, asked };
}

function opened(events: readonly SandboxEvent[], beganMs?: number) {
  const { ask, asked } = recording(events);
  let changes = 0;
  const session = openSession('s', {
    ...{ page: { document: {} } as Browser, nodes: 3, beganMs },
    events: (belongs) => sessionEvents(ask, 's', 'tn', belongs),
    read: async () => null,
    fault: (id) => (id === 'flt_1' ? liar : undefined),
    words: () => '',
    changed: () => {
      changes += 1;
    },
  });
  const { model, spans } = session.live;
  const shown = () =>
    Array.from(
      { length: model.count },
      (_, index) => `${model.at[index]} ${model.kindName(index)} ${model.title(index)}`,
    );
  const loaded = () => until(() => !session.isLoading && changes > 0, 'its events');
  return { session, model, spans, shown, loaded, asked };
}

test('frames come from the session, states and faults from what is recorded around them', async () => {
  const events = [
    ...[
      frame(5, [], 'other'),
      frame(10),
      state(11, 'signing/tn/s'),
      state(12, 'signing/tn/other'),
      frame(13, [], 'other'),
    ],
    ...[frame(14), state(15, 'node/2/dkg/tn/s')],
  ];
  const { session, shown, loaded, asked } = opened(events, 10);
  await loaded();
  expect(asked).toEqual(['/v1/sandbox/recording?session=s&tenant=tn', '/v1/sandbox/recording?after=0&limit=205']);
  expect(shown()).toEqual(['0 frame partial_request', '1 state x', '4 frame partial_request', '5 state x']);
  expect(session.problem).toBe('');
});

test('what the stream brings meanwhile is there once, and what follows is appended', async () => {
  const { session, shown, loaded } = opened([frame(10), frame(11)], 10);
  const never = () => false;
  session.see(
    [
      { position: 1, event: frame(11) },
      { position: 2, event: frame(12) },
    ],
    never,
  );
  await loaded();
  session.see(
    [
      { position: 3, event: frame(13) },
      { position: 4, event: frame(14, [], 'other') },
    ],
    never,
  );
  expect(shown().map((line) => line.split(' ')[0])).toEqual(['0', '1', '2', '3']);
});

test('a fault that was armed before stands at the first frame that it touched', async () => {
  const { model, spans, shown, loaded, session } = opened([frame(10), frame(12, ['flt_1', 'gone'])], 10);
  await loaded();
  expect(shown()).toEqual(['0 frame partial_request', '2 fault bad_partial armed', '2 frame partial_request']);
  expect(spans.faults).toMatchObject([{ id: 'flt_1', family: 'byzantine', targets: ['node/2'], frames: 1 }]);
  session.see([{ position: 2, event: frame(13, ['flt_1']) }], () => true);
  expect([model.count, spans.faults[0]!.frames]).toEqual([4, 2]);
});

test('a session without frames says so, and one that cannot be read says why', async () => {
  const { session, loaded, asked } = opened([frame(5, [], 'other')]);
  await loaded();
  expect([session.live.model.count, session.problem, asked.length]).toEqual([0, '', 1]);
  const broken = openSession('s', {
    ...{ page: { document: {} } as Browser, nodes: 3, beganMs: undefined },
    events: () => Promise.reject(new Error('the recording answers 503')),
    read: async () => null,
    fault: () => undefined,
    words: () => '',
    changed: () => undefined,
  });
  await until(() => !broken.isLoading, 'the refusal');
  expect(broken.problem).toBe('Its events could not be read: the recording answers 503');
});
