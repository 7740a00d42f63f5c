/** A receiver of webhooks on loopback: remembers every request with its exact bytes, and answers as it is told. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

export interface Received {
  readonly atMs: number;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  readonly event: {
    readonly id: string;
    readonly type: string;
    readonly sequence: number;
    readonly [field: string]: unknown;
  };
}

/** A status with headers and a body, or "hang": no answer until the receiver is released or stopped. */
export type Reply =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | 'hang';

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Requests that are being answered, and the most that there ever were. */
  readonly open: number;
  readonly openMax: number;
  answer: (request: Received, index: number) => Reply | Promise<Reply>;
  /** Answers 200 to all who hang, now. */
  release(): void;
  stop(): Promise<void>;
}

/** Starts receivers that each stop after their test. */
export function useReceivers(): typeof startReceiver {
  const receivers: Receiver[] = [];
  afterEach(async () => {
    await Promise.all(receivers.splice(0).map((each) => each.stop()));
  });
  return async (answer) => {
    const started = await startReceiver(answer);
    receivers.push(started);
    return started;
  };
}

export async function startReceiver(answer: Receiver['answer'] = () => 200): Promise<Receiver> {
  const received: Received[] = [];
  const hanging = new Set<ServerResponse>();
  let open = 0;
  let openMax = 0;
  const server = createServer((request, response) => {
    open += 1;
    openMax = Math.max(openMax, open);
    response.on('close', () => {
      open -= 1;
      hanging.delete(response);
    });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const raw = Buffer.concat(chunks);
      const event = JSON.parse(raw.toString('utf8')) as Received['event'];
      const seen: Received = { atMs: Date.now(), headers: request.headers, raw, event };
      received.push(seen);
      const reply = await receiver.answer(seen, received.length - 1);
      if (reply === 'hang') {
        hanging.add(response);
        return;
      }
      const { status, headers = {}, body = '' } = typeof reply === 'number' ? { status: reply } : reply;
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    get open() {
      return open;
    },
    get openMax() {
      return openMax;
    },
    answer,
    release: () => {
      for (const response of hanging) response.writeHead(200).end();
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** Sequences by webhook-id, each once, ascending. */
export function sequencesOf(receiver: Receiver): number[] {
  return [...new Set(receiver.received.map(({ event }) => event.sequence))].sort((a, b) => a - b);
}
