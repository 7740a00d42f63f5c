/** `signmesh listen` and `signmesh trigger` against an embedded service: what one makes happen the other shows. */
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { recipes, triggerTypes, untriggered } from '../../cli/events/recipes.ts';
import { type ServiceTarget, targetOf } from '../../cli/events/target.ts';
import { type ListenOptions, listen, run as runListen } from '../../cli/listen.ts';
import { run as runTrigger, trigger } from '../../cli/trigger.ts';
import { type Running, startService } from '../simulation/embedded/support/service.ts';
import { RestClient } from '../support/rest.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../wallets/delivery/deliveries/support/receiver.ts';
import { temporaryFolder } from './support/temporary.ts';

let running: Running;
let target: ServiceTarget;
let api: RestClient;
beforeAll(async () => {
  // Slow enough to undo a block before it is final.
  running = await startService({ chainBlockMs: 100 });
  const { token, approverToken, service } = running;
  target = { url: `http://${service.httpAddress}`, grpc: undefined, token, approverToken };
  api = new RestClient(target.url, target.token);
});
afterAll(() => running?.service.stop());

/** With the place of the service, unless they name another. */
function words(args: readonly string[]): string[] {
  const place = { '--url': target.url, '--token': target.token };
  return [...args, ...Object.entries(place).flatMap((option) => (args.includes(option[0]) ? [] : option))];
}

interface Listening {
  readonly lines: string[];
  readonly notes: string[];
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

const listeners: Listening[] = [];
afterEach(async () => {
  for (const each of listeners.splice(0)) await each.stop().catch(() => undefined);
});

async function listening(more: Partial<ListenOptions> = {}): Promise<Listening> {
  const lines: string[] = [];
  const notes: string[] = [];
  const over = new AbortController();
  const done = listen({
    target,
    signal: over.signal,
    write: (line) => lines.push(line),
    note: (line) => notes.push(line),
    ...more,
  });
  const each = {
    lines,
    notes,
    done,
    stop: async () => {
      over.abort();
      await done;
    },
  };
  listeners.push(each);
  await Promise.race([done, until(() => notes.some((note) => note.startsWith('listening to')), 'the stream')]);
  return each;
}

const connect = (name: string) => api.made('/v1/providers/connect', { type: 'sandbox', name, credentials: {} });

describe('trigger', () => {
  test('knows how to bring about every type, or why not', () => {
    expect([...recipes.keys(), ...untriggered.keys()].sort()).toEqual([...triggerTypes].sort());
  });

  // Approvals expire after a minute, and a provider without a statement is asked as long.
  test.each(
    [...recipes.keys()].filter(
      (type) => !['transaction_intent.expired', 'change_proposal.expired', 'recon.job.failed'].includes(type),
    ),
  )('%s happens for real', async (type) => {
    const { event, text } = await trigger(type, target);
    expect(event.type).toBe(type);
    const { body } = await api.get<{ events: object[] }>(
      `/v1/events?type=${type}&after_sequence=${event.sequence - 1}`,
    );
    expect(body.events[0]).toEqual(JSON.parse(text));
  });

  test.each([
    [['transaction_intent.complete'], 2, 'did you mean transaction_intent.completed?'],
    [['something.else.entirely.that.is.long'], 2, '--list names them'],
    [['webhook.suspended'], 1, 'cannot be triggered. It needs five days'],
    [[], 2, '--list'],
    [['wallet.created', '--url', 'localhost'], 2, '--url must begin with'],
    [['wallet.created', '--what'], 2, "unknown option '--what'"],
  ])('of %j says what is wrong', async (args, exitCode, text) => {
    const failed = runTrigger(words(args));
    await expect(failed).rejects.toMatchObject({ name: 'Failure', exitCode, message: expect.stringContaining(text) });
  });

  test('tells of a service that is not there, and of a token that may not', async () => {
    await expect(trigger('wallet.created', { ...target, url: 'http://127.0.0.1:1' })).rejects.toThrow(
      'does not answer',
    );
    await expect(trigger('wallet.created', { ...target, token: 'svc_sk_live_nonsense' })).rejects.toThrow('401');
    const elsewhere = temporaryFolder();
    expect(() => targetOf({ dataDir: elsewhere }, {})).toThrow(`No cluster runs in ${elsewhere}: start one`);
    const url = 'http://127.0.0.1:8080';
    expect(() => targetOf({ url, dataDir: elsewhere }, {})).toThrow(
      `No cluster runs in ${elsewhere}: give --token, too.`,
    );
    const alone = { ...target, approverToken: undefined };
    await expect(trigger('transaction_intent.rejected', alone)).rejects.toThrow('a second person');
  });
});

describe('listen', () => {
  test('prints one line an event, as it happens, and only the types that were asked for', async () => {
    const all = await listening();
    const some = await listening({ types: 'wallet.*' });
    const { id } = await connect('listened to');
    const wallet = await api.made('/v1/wallets', {
      name: 'seen',
      provider_connection_id: id,
      network: 'eip155:11155111',
    });
    await until(() => all.lines.some((line) => line.includes(wallet.id)), 'the wallet');
    await until(() => some.lines.some((line) => line.includes(wallet.id)), 'the wallet');
    expect(all.lines.find((line) => line.includes(`${id} (`) || line.endsWith(id))).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}#\d+ {2}provider_connection\.created +pcn_/,
    );
    expect(some.lines.every((line) => line.includes('  wallet.'))).toBe(true);
  });

  test('gives JSON as the API has it', async () => {
    const { lines } = await listening({ json: true, types: 'provider_connection.created' });
    await connect('as json');
    await until(() => lines.length > 0, 'a line');
    const event = JSON.parse(lines[0]!) as { sequence: number };
    const listed = await api.get<{ events: object[] }>(`/v1/events?after_sequence=${event.sequence - 1}&limit=1`);
    expect(listed.body.events[0]).toEqual(event);
  });

  describe('that forwards', () => {
    let receiver: Receiver;
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    beforeEach(async () => {
      receiver = await startReceiver();
    });
    afterEach(() => receiver.stop());

    test('posts the exact event, signed as a webhook is', async () => {
      const { lines, notes } = await listening({
        types: 'provider_connection.created',
        forward: { url: receiver.url, secret },
      });
      expect(notes[0]).toContain(secret);
      await connect('forwarded');
      await until(() => lines.length === 2, 'the line of the answer');
      expect(lines[1]).toMatch(/→ 200 in \d+ ms$/);
      const { raw, headers } = receiver.received[0]!;
      const verified = new Webhook(secret).verify(raw, headers as Record<string, string>);
      expect(verified).toMatchObject({ type: 'provider_connection.created' });
      expect(headers['x-svc-signature']).toBe(createHmac('sha256', secret).update(raw).digest('hex'));
    });

    test('says what the receiver answers, and continues', async () => {
      let count = 0;
      receiver.answer = () => [500, { status: 302, headers: { location: '/' } }, 200][count++ % 3]!;
      const { lines } = await listening({
        types: 'provider_connection.created',
        forward: { url: receiver.url, secret },
      });
      for (const name of ['one', 'two', 'three']) await connect(name);
      await until(() => lines.length === 6, 'three answers');
      const answers = lines.filter((_, index) => index % 2 === 1).map((line) => /→ (\d+)/.exec(line)?.[1]);
      expect(answers).toEqual(['500', '302', '200']);
      await receiver.stop();
      await connect('four');
      await until(() => lines.length === 8, 'the failure');
      expect(lines[7]).toMatch(/→ failed after \d+ ms: .*ECONNREFUSED/);
      receiver = await startReceiver();
    });
  });

  test('continues where it was when the gateway dies', async () => {
    const { lines, notes } = await listening({ json: true });
    await connect('before');
    await until(() => lines.length > 0, 'the first');
    // Its answer may die with the gateway.
    await running.call('POST', '/v1/sandbox/nodes/gateway/crash', { restart_after_ms: 500 }).catch(() => undefined);
    await until(() => notes.some((note) => note.includes('connecting again')), 'the break');
    await until(async () => (await connect('after')).id, 'the gateway to be back', 100);
    await until(() => lines.some((line) => line.includes('"name":"after"')), 'what happened behind the break');
    const sequences = lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence);
    expect(sequences).toEqual(sequences.map((_, index) => sequences[0]! + index));
  });

  test.each([
    [['--forward', 'localhost:3000'], 2, 'It must be a URL'],
    [['--secret', 'whsec_x'], 2, 'It must be whsec_'],
    [['--secret', `whsec_${'A'.repeat(42)}B=`], 2, 'It must be whsec_'],
    [['--secret', secretOf(7)], 2, 'give --forward too'],
    [['--after', 'x'], 2, 'whole number'],
    [
      ['--types', 'nothing.here'],
      1,
      'The service refuses streamEvents: 400 invalid_request: the event types are not valid',
    ],
    [['--after', '999999'], 1, 'the log no longer has, or never had, that place'],
    [['--token', 'svc_sk_live_nonsense'], 1, 'streamEvents: 401 authentication_failed'],
    [['--url', 'http://127.0.0.1:1'], 1, 'http://127.0.0.1:1 does not answer'],
  ])('with %j says what is wrong', async (args, exitCode, text) => {
    const silent = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const failed = runListen(words(args));
      await expect(failed).rejects.toMatchObject({ name: 'Failure', exitCode, message: expect.stringContaining(text) });
    } finally {
      silent.mockRestore();
    }
  });
});

function secretOf(byte: number): string {
  return `whsec_${Buffer.alloc(32, byte).toString('base64')}`;
}
