/** Frames with one field altered: what is altered, what stays, and that the true frame is left as it was. */
import { expect, test } from 'vitest';
import { PartialRefusalCode } from '../../../proto/gen/signmesh/wire/v1/signing_pb.ts';
import type { WireBody } from '../../../proto/wire.ts';
import { altered, alteredFrame } from '../../../scenarios/faults/byzantine/altered.ts';
import { falseRefusal } from '../../../scenarios/faults/byzantine/refusals.ts';
import type { AlterationKind } from '../../../scenarios/faults/vocabulary/fault-parts.ts';
import { alteredAnswers, alteredRequests } from '../../../simulation/search/signing/alterations.ts';
import { frameAt } from './support/frames.ts';

const message = {
  nodeId: 3,
  nonceNumber: 7n,
  keySession: 'key',
  mac: Uint8Array.of(1, 2),
  ids: [1, 2],
  isSupplied: false,
  order: { expiresEpochMs: 9n },
  outcome: { case: 'partial', value: Uint8Array.of(4) },
};
const change = (field: string, kind: AlterationKind) => altered(message, { field, change: kind });

test('each kind of value is altered in its ways', () => {
  expect(change('node_id', 'zero')).toEqual({ ...message, nodeId: 0 });
  expect(change('node_id', 'above')).toEqual({ ...message, nodeId: 4 });
  expect(change('nonce_number', 'below')).toEqual({ ...message, nonceNumber: 6n });
  expect(change('key_session', 'other')).toEqual({ ...message, keySession: 'kex' });
  expect(change('key_session', 'huge')!.keySession.length).toBeGreaterThan(1024);
  expect(change('mac', 'other')).toEqual({ ...message, mac: Uint8Array.of(1, 3) });
  expect(change('mac', 'longer')!.mac).toHaveLength(3);
  expect(change('ids', 'twice')).toEqual({ ...message, ids: [1, 1, 2] });
  expect(change('ids', 'reversed')).toEqual({ ...message, ids: [2, 1] });
  expect(change('ids.1', 'zero')).toEqual({ ...message, ids: [1, 0] });
  expect(change('is_supplied', 'other')).toEqual({ ...message, isSupplied: true });
  expect(change('order.expires_epoch_ms', 'above')).toEqual({ ...message, order: { expiresEpochMs: 10n } });
  expect(change('order', 'missing')).not.toHaveProperty('order');
  expect(change('outcome.partial', 'empty')!.outcome.value).toHaveLength(0);
  expect(message.mac).toEqual(Uint8Array.of(1, 2));
});

test('what is not there, or is so already, is not altered', () => {
  expect(change('signers', 'empty')).toBeUndefined();
  expect(change('order.mac', 'empty')).toBeUndefined();
  expect(change('ids.7', 'zero')).toBeUndefined();
  for (const kind of ['empty', 'shorter', 'reversed', 'twice'] as const) {
    expect(altered({ ids: [] }, { field: 'ids', change: kind })).toBeUndefined();
  }
  expect(change('is_supplied', 'zero')).toBeUndefined();
});

test('a false refusal is of the kind that is asked for, with a code that nodes give there, and none otherwise', () => {
  const partial = frameAt('partial_reply', 'node/1').envelope.message.body as unknown as WireBody;
  const confirmed = frameAt('dkg_confirmed', 'node/1').envelope.message.body as unknown as WireBody;
  expect(falseRefusal('KEY_UNKNOWN', 1, partial)).toMatchObject({
    case: 'partialReply',
    value: { outcome: { case: 'refusal', value: { code: PartialRefusalCode.KEY_UNKNOWN } } },
  });
  expect(falseRefusal('NOT_OPEN', 1, partial)).toBeUndefined();
  expect(falseRefusal('NOT_OPEN', 3, confirmed)).toMatchObject({
    case: 'dkgRefused',
    value: { nodeId: 3, code: 'NOT_OPEN', culprits: [] },
  });
  expect(falseRefusal('NONCE_UNKNOWN', 1, confirmed)).toBeUndefined();
});

test('of a frame the tenant, session and attempt can be altered too', () => {
  const { envelope } = frameAt('dkg_open', 'node/1');
  expect(alteredFrame(envelope, { field: 'attempt', change: 'above' })!.message.attempt).toBe(2);
  expect(alteredFrame(envelope, { field: 'session', change: 'other' })!.message.session).toBe('x');
  expect(envelope.message.attempt).toBe(1);
});

test('the random search names fields that frames have: each first name is one of its message', () => {
  for (const { point, field } of [...alteredRequests, ...alteredAnswers]) {
    const { envelope } = frameAt(point, 'node/1');
    const [first] = field.split('.');
    const name = first!.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const known = [...Object.keys(envelope.message), ...Object.keys(envelope.message.body.value)];
    // A message that is optional is not in every frame.
    const isOptional = ['order', 'opening', 'finished', 'participants'].includes(name);
    expect(isOptional || known.includes(name), `${field} of ${point}`).toBe(true);
  }
});
