/** Keys and signatures over lost answers: one session each, and no session of another caller is taken for it. */
import { describe, expect, test } from 'vitest';
import { broken, json, virtualClient } from './support.ts';

interface Sent {
  readonly path: string;
  readonly body: Record<string, unknown> & { readonly context?: { readonly correlation_id?: string } };
}

/** The signing API over one session, which `opener` has opened; each call's answer is lost as often as the script says. */
function signing(lost: Readonly<Record<string, number>>, opener?: string) {
  let owner = opener;
  let pauses = 1;
  const sent: Sent[] = [];
  const left = { ...lost };
  const answer = (state: string, reason_code: string, more: object, correlation = '', resumable = false) => ({
    signing_session_id: 'sig_1',
    receipt: {
      state: `RECEIPT_STATE_${state}`,
      reason_code,
      message: 'm',
      correlation_id: correlation || owner,
      session_id: 'sig_1',
      resumable,
    },
    checkpoint: { resume_token: resumable ? 'token' : '' },
    ...more,
  });
  const served = (path: string, body: Sent['body']): object => {
    const correlation = body.context?.correlation_id ?? '';
    if (path.endsWith('/initiate')) {
      if (owner !== undefined) return answer('REPLAY_REJECTED', 'DUPLICATE_INTENT', {}, correlation);
      owner = correlation;
      return answer('ACCEPTED', 'SESSION_ACCEPTED', {}, correlation);
    }
    if (path.endsWith('/resume')) return answer('RESUMED', 'SESSION_RESUMED', {});
    pauses -= 1;
    if (pauses >= 0) return answer('BACKEND_FAILED', 'QUORUM_UNAVAILABLE', {}, '', true);
    return answer('BACKEND_COMPLETED', 'SIGNATURE_COMPLETED', { full_signature: 'AQI=', recovery_id: 'AQ==' });
  };
  const fetch = async (input: unknown, init: RequestInit): Promise<Response> => {
    const path = new URL(String(input)).pathname;
    const body = JSON.parse(String(init.body));
    sent.push({ path, body });
    const given = served(path, body);
    const name = path.split('/').at(-1)!;
    left[name] = (left[name] ?? 0) - 1;
    if (left[name]! >= 0) throw broken();
    return json(200, given);
  };
  return { fetch: fetch as typeof globalThis.fetch, sent };
}

const request = { keyId: 'treasury', message: new Uint8Array(32), intentId: 'invoice-1' };

describe('a signature', () => {
  test('whose opening was lost continues in the session that its first call has opened', async () => {
    const { fetch, sent } = signing({ initiate: 2, share: 1, resume: 1 });
    const { client, settle } = virtualClient(fetch);
    const signed = await settle(client.keys.sign(request));
    expect(signed).toMatchObject({ sessionId: 'sig_1', signature: new Uint8Array([1, 2]), recoveryId: 1 });
    const opened = sent
      .filter(({ path }) => path.endsWith('/initiate'))
      .map(({ body }) => body.context?.correlation_id);
    // Three times the call, then the question whose session it is: without a correlation id of its own.
    expect(opened).toEqual([...Array(3).fill('cor-uuid-1'), undefined]);
  });

  test('of a text that is not base64 is refused before anything is sent', async () => {
    const { fetch, sent } = signing({});
    const { client, settle } = virtualClient(fetch);
    for (const text of ['aGVsbG8=\n', 'aGVsbG8==', 'YWJ=', 'hello!']) {
      const message = { ...request, message: text };
      await expect(settle(client.keys.sign(message))).rejects.toMatchObject({
        code: 'invalid_option',
        field: 'message',
      });
      const witness = { ...request, humanApprovalWitness: text };
      await expect(settle(client.keys.sign(witness))).rejects.toMatchObject({ field: 'humanApprovalWitness' });
    }
    expect(sent).toEqual([]);
  });

  test('of an intent that another caller has opened is refused, and taken where that is allowed', async () => {
    const refused = virtualClient(signing({}, 'cor-of-another').fetch);
    await expect(refused.settle(refused.client.keys.sign(request))).rejects.toMatchObject({
      reasonCode: 'DUPLICATE_INTENT',
    });
    const allowed = virtualClient(signing({}, 'cor-of-another').fetch);
    const signed = await allowed.settle(allowed.client.keys.sign({ ...request, acceptExisting: true }));
    expect(signed.sessionId).toBe('sig_1');
  });

  test('continues in a paused session: it resumes it with the token of its checkpoint', async () => {
    const { fetch, sent } = signing({});
    const { client, settle } = virtualClient(fetch);
    await settle(client.keys.sign(request));
    const resumed = sent.filter(({ path }) => path.endsWith('/resume')).map(({ body }) => body);
    expect(resumed).toEqual([{ session_id: 'sig_1', resume_token: 'token', context: expect.anything() }]);
  });

  test('that is refused for good is not asked for again', async () => {
    let sent = 0;
    const receipt = { state: 'RECEIPT_STATE_POLICY_REJECTED', reason_code: 'POLICY_REJECTED', message: 'no' };
    const accepted = { state: 'RECEIPT_STATE_ACCEPTED', reason_code: 'SESSION_ACCEPTED' };
    const fetch = async (): Promise<Response> => {
      sent += 1;
      return json(200, { signing_session_id: 'sig_1', receipt: sent === 1 ? accepted : receipt, checkpoint: null });
    };
    const { client, settle } = virtualClient(fetch as never);
    await expect(settle(client.keys.sign(request))).rejects.toMatchObject({ reasonCode: 'POLICY_REJECTED' });
    expect(sent).toBe(2);
  });

  test('whose first session has ended in between continues in the next one', async () => {
    const replies = [
      { state: 'RECEIPT_STATE_REPLAY_REJECTED', reason_code: 'DUPLICATE_INTENT', correlation_id: 'cor-of-another' },
      { state: 'RECEIPT_STATE_ACCEPTED', reason_code: 'SESSION_ACCEPTED', correlation_id: 'cor-new' },
      { state: 'RECEIPT_STATE_BACKEND_COMPLETED', reason_code: 'SIGNATURE_COMPLETED' },
    ];
    const done = { full_signature: 'AQI=', recovery_id: '' };
    const fetch = async (): Promise<Response> =>
      json(200, { signing_session_id: `sig_${replies.length}`, receipt: replies.shift(), checkpoint: null, ...done });
    const { client, settle } = virtualClient(fetch as never);
    const signed = await settle(client.keys.sign(request));
    // Of Ed25519: without a recovery id.
    expect(signed).toMatchObject({ sessionId: 'sig_2', recoveryId: undefined });
  });

  test('that finds no quorum before its deadline fails with the reason', async () => {
    const { fetch } = signing({});
    const { client, settle } = virtualClient(fetch);
    const ended = settle(client.keys.sign({ ...request, deadlineMs: 50 }));
    await expect(ended).rejects.toMatchObject({ code: 'signing_refused', reasonCode: 'QUORUM_UNAVAILABLE' });
  });
});
