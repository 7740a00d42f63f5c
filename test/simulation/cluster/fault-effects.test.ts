/** What faults do to frames and processes, by their definitions: true runs pass, and each contradiction is named. */
import { expect, test } from 'vitest';
import type { Fault } from '../../../scenarios/faults/vocabulary/fault.ts';
import type { Observation } from '../../../simulation/cluster/observation.ts';
import { faultsAsArmed } from '../../../simulation/model/fault-effects.ts';
import { verdictOf } from './support/observations.ts';

type Of<K extends Observation['kind']> = Extract<Observation, { kind: K }>;
type Arrivals = NonNullable<Of<'frame'>['decided']>['arrivals'];

const envelope = {
  from: 'node/1',
  to: 'signing/tn/sig_a',
  message: { tenant: 'tn', session: 'sig_a', attempt: 1, body: { case: 'partialReply', value: {} } },
  trace: { correlationId: '', traceparent: '' },
} as unknown as Of<'frame'>['envelope'];
const whole = { envelope, afterMs: 0 };

const armed = (fault: Fault, id = 'f') => told(id, fault, 'armed', [], 0, fault);
const ended = (fault: Fault, id = 'f') => told(id, fault, 'ended', [], 9);
const fired = (fault: Fault, targets: string[], atMs = 1, id = 'f') => told(id, fault, 'fired', targets, atMs);
function told(id: string, { fault }: Fault, what: Of<'fault'>['what'], targets: string[], atMs: number, of?: Fault) {
  return { kind: 'fault', atMs, id, fault, targets, what, ...(of && { definition: of }) } as const;
}

/** A partial of node 1, or of another one, that these faults touch. */
function frame(faults: readonly string[], arrivals: Arrivals, atMs = 1, node = 1): Of<'frame'> {
  const sent = node === 1 ? envelope : { ...envelope, from: `node/${node}` };
  const [first] = arrivals;
  const changed = arrivals.map((one) => (one.envelope === envelope ? { ...one, envelope: sent } : one));
  const decided = { sent, faults, arrivals: changed };
  return { kind: 'frame', atMs, envelope: first?.envelope ?? sent, touched: false, decided };
}

const process = (what: Of<'process'>['what'], name = 'node/1', atMs = 1): Of<'process'> => {
  return { kind: 'process', atMs, process: name, what, boot: 'b' };
};

const drop: Fault = { fault: 'drop', target: 'node/1' };
const once: Fault = { ...drop, at: { point: 'partial_reply', nth: 2 } };
const slow: Fault = { fault: 'slow', target: 'node/1', by_ms: 5 };
const crash: Fault = { fault: 'crash', target: 'node/1', at: { point: 'partial_reply' } };
const pause: Fault = { fault: 'pause', target: 'node/1', for_ms: 10 };
const copies: Fault = { fault: 'duplicate', target: 'node/1', copies: 2 };
const lie: Fault = { fault: 'bad_partial', target: 'node/1', count: 1 };
const other = { ...whole, envelope: { ...envelope } };

const right: readonly (readonly [string, readonly Observation[]])[] = [
  ['a drop of every frame of its node', [armed(drop), frame(['f'], []), frame(['f'], [], 2), frame([], [whole], 2, 2)]],
  ['a drop of the second frame', [armed(once), frame([], [whole]), frame(['f'], []), ended(once), frame([], [whole])]],
  ['a slow link', [armed(slow), frame(['f'], [{ ...whole, afterMs: 5 }])]],
  ['a crash at a frame', [armed(crash), frame(['f'], []), fired(crash, ['node/1']), process('down'), ended(crash)]],
  ['copies', [armed(copies), frame(['f'], [whole, whole, whole])]],
  ['a lie', [armed(lie), frame(['f'], [other]), frame([], [whole])]],
  ['a pause', [armed(pause), fired(pause, ['node/1'], 0), process('paused'), process('resumed', 'node/1', 10)]],
  ['a fault of a later step', [armed({ ...drop, at: { step: 's' } }), frame([], [whole]), frame(['f'], [], 5)]],
];

test.each(right)('%s is as armed', (_, observations) => {
  expect(verdictOf(faultsAsArmed(), observations)).toBeUndefined();
});

const wrong: readonly (readonly [string, readonly Observation[]])[] = [
  ['touches a frame and is not armed', [armed(drop, 'g'), frame(['f'], [])]],
  ['it does not concern it', [armed(drop), frame(['f'], [], 1, 2)]],
  ['for the 2th time of 1', [armed({ ...drop, count: 1 }), frame(['f'], []), frame(['f'], [])]],
  ['as number 1, too early', [armed(once), frame(['f'], [])]],
  ['before it begins', [armed({ ...drop, at: { after_ms: 5 } }), frame(['f'], [])]],
  ['after its end', [armed({ ...drop, for_ms: 5 }), frame(['f'], [], 6)]],
  ['leaves partial_reply of node/1 as it is', [armed(drop), frame([], [whole])]],
  ['is lost, and no fault does that', [armed(slow), frame(['f'], [])]],
  ['arrives in spite of drop', [armed(drop), frame(['f'], [whole])]],
  ['is not 5 ms late', [armed(slow), frame(['f'], [{ ...whole, afterMs: 4 }])]],
  ['arrives more than once, and no fault does that', [armed(slow), frame(['f'], [whole, whole])]],
  ['a duplicate arrives 2 times', [armed(copies), frame(['f'], [whole, whole])]],
  ['is damaged, and no fault does that', [armed(copies), frame(['f'], [{ ...whole, damage: 'corrupt' }])]],
  ['is late, and no fault does that', [armed(copies), frame(['f'], [{ ...whole, afterMs: 1 }])]],
  ['says something else, and no fault does that', [armed(copies), frame(['f'], [other])]],
  ['f triggers and is not armed', [fired(crash, ['node/1'])]],
  ['f triggers before its frame', [armed(crash), fired(crash, ['node/1'])]],
  ['did not trigger at its frame', [armed(crash), frame([], [whole]), frame([], [whole], 2)]],
  ['f hits node/2, and targets node/1', [armed(pause), fired(pause, ['node/2'], 0)]],
  ['f triggers at 1 ms, and begins at 0 ms', [armed(pause), fired(pause, ['node/1'])]],
  ['did not trigger at 0 ms', [armed(pause), frame([], [whole])]],
  ['triggers 2 times, and may 1 times', [armed(pause), fired(pause, ['node/1'], 0), fired(pause, ['node/1'], 0)]],
  ['a crash has hit node/1, which lives', [armed(crash), frame(['f'], []), fired(crash, ['node/1']), frame([], [], 2)]],
  ['node/2 pauses without a fault', [armed(pause), fired(pause, ['node/1'], 0), process('paused', 'node/2')]],
  [
    'node/1 continues, and two pauses hold it',
    [
      ...[armed(pause), fired(pause, ['node/1'], 0), armed(pause, 'g'), fired(pause, ['node/1'], 0, 'g')],
      ...[process('paused'), process('resumed')],
    ],
  ],
];

test.each(wrong)('“%s” is found', (text, observations) => {
  expect(verdictOf(faultsAsArmed(), observations)).toContain(text);
});
