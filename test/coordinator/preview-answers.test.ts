/** Every preview gets one answer, whatever its node, its session and the other calls do meanwhile, and changes nothing. */
import { describe, expect, test } from 'vitest';
import { useModelCryptography } from '../support/model-cryptography.ts';
import { nodeIds, partialBody, partialOf, SigningAlone, schemes } from './support/signing-alone.ts';

useModelCryptography();

describe.each(schemes)('under %s, a preview', (scheme) => {
  test.each([
    ['that lost its link', 'NODES_UNAVAILABLE', (t: SigningAlone) => t.linkDown(2)],
    ['that is silent', 'NODES_UNAVAILABLE', (t: SigningAlone) => t.pass(t.config.nodesWaitMs)],
    [
      'that is silent while a call waits',
      'NODES_UNAVAILABLE',
      (t: SigningAlone) => {
        t.gather();
        t.pass(t.config.partialTimeoutMs);
      },
    ],
  ])('of a node %s is answered %s', (_, code, happens) => {
    const t = new SigningAlone(scheme);
    t.opens();
    const call = t.preview(2);
    expect([t.code(call), t.askedNodes]).toEqual(['waits', [2]]);
    t.unchanged(() => happens(t));
    expect(t.code(call)).toBe(code);
  });

  test('of a node without a link, or without a share, is answered at once', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const waiting = t.gather();
    t.linkDown(2);
    expect([t.preview(2), t.preview(4)].map((call) => t.code(call))).toEqual([
      'NODES_UNAVAILABLE',
      'NODE_NOT_PARTICIPANT',
    ]);
    t.serve();
    expect(t.code(waiting)).toBe('SIGNATURE_COMPLETED');
  });

  test('of a node that others answer for says so', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    const call = t.gather();
    const [mute, other] = t.askedNodes as [number, number];
    t.hear(t.answerOf(other));
    const early = t.preview(mute);
    t.pass(t.config.partialTimeoutMs);
    expect([t.code(early), t.code(t.preview(mute)), t.code(call)]).toEqual([
      'NODES_UNAVAILABLE',
      'NODES_UNAVAILABLE',
      'waits',
    ]);
    t.serve();
    expect(t.code(call)).toBe('SIGNATURE_COMPLETED');
  });

  test('shows what the node gave, which counts once a call wants it, right or wrong', () => {
    for (const isWrong of [false, true]) {
      const t = new SigningAlone(scheme);
      t.opens();
      const calls = [t.preview(2), t.preview(2)];
      const answer = t.answerOf(2);
      const body = isWrong ? partialBody(answer) : answer.body;
      t.unchanged(() => {
        t.hear(answer, body);
        // The first answer stays its answer.
        t.hear(answer);
        calls.push(t.preview(2));
      });
      const shown = calls.map((call) => Buffer.from(t.answer(call).partial).toString('hex'));
      const given = partialOf({ ...answer, body: body as never });
      expect(shown).toEqual(Array(3).fill(Buffer.from(given).toString('hex')));
      const step = t.step(2);
      expect([t.code(step), t.askedNodes]).toEqual([isWrong ? 'INVALID_PARTIAL_SIGNATURE' : 'SHARE_ACCEPTED', []]);
      t.signs();
    }
  });

  test.each([false, true])(
    'of every node is answered, and a signature has as many partials as sign (a call waits: %s)',
    (waits) => {
      const t = new SigningAlone(scheme);
      t.opens();
      const gather = waits ? t.gather() : undefined;
      const attempts = () => new Set(t.asked.map(({ names }) => names.attempt));
      const before = attempts();
      const calls = nodeIds.map((id) => t.preview(id));
      // A call that waits keeps its attempt.
      if (waits) expect(attempts()).toEqual(before);
      if (waits) t.serve();
      else t.unchanged(() => t.serve());
      expect(calls.map((call) => t.code(call))).not.toContain('waits');
      const signed = gather ?? t.gather();
      t.serve();
      expect([t.code(signed), t.record.ceremony.submitted.length]).toEqual(['SIGNATURE_COMPLETED', 2]);
    },
  );

  test('of a session whose key cannot be read is answered, as every other call', () => {
    const t = new SigningAlone(scheme);
    t.opens();
    t.restart();
    t.store.isHeld = true;
    const calls = [t.preview(1), t.gather(), t.call('inspectSession', { sessionId: t.id })];
    t.store.releaseOne();
    t.store.readsFail = true;
    t.release();
    expect(calls.map((call) => t.code(call))).toEqual(['UNAVAILABLE', 'UNAVAILABLE', 'UNAVAILABLE']);
    t.store.readsFail = false;
    t.signs();
  });
});
